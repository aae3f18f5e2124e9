-- Reports of which more than an hour is missing.
select report, mark, not_running_because
from {{ source('tidemark_books', 'freshness') }}
where mark < now() - interval 1 hour
