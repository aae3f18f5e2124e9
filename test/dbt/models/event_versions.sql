{{ config(materialized='table') }}
-- How many versions of each event were seen, and since when the newest stands.
select
    event_id,
    count(*) as versions,
    max(_valid_from) as newest_since,
    count(*) filter (_valid_to is null) as open_versions
from {{ source('tidemark_history', 'events') }}
group by event_id
