{{ config(materialized='table') }}
-- How many events there are in each status, and how many of them have a submission.
select
    events.status,
    count(*) as events,
    count(submissions.event_id) as with_submission
from {{ source('tidemark_current', 'events') }} as events
left join (
    select distinct event_id from {{ source('tidemark_current', 'merf_submissions') }}
) as submissions using (event_id)
group by events.status
