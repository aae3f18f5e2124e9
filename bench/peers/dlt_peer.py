"""dlt as its documentation recommends: a rest_api source, merged into DuckDB by key, with automatic child tables.

bench/suites/peers.ts runs this program: `sync` runs once and prints its peak memory, `dump` prints the stored rows.
"""

import sys

import dlt
import duckdb
from dlt.sources.rest_api import rest_api_source

from wire import PAGE_ROWS, PATH, dump, timed, token

task, url, folder, loader = sys.argv[1:5]
FILE = f"{folder}/dlt.duckdb"


def source():
    body = {
        "modifiedSince": "{incremental.start_value}",
        "pageSize": PAGE_ROWS,
        "includeDeleted": True,
        "expand": {"meetingRooms": True, "assignments": True},
    }
    pages = {"type": "page_number", "base_page": 1, "page_body_path": "pageNumber", "total_path": None}
    return rest_api_source(
        {
            "client": {"base_url": url, "auth": {"type": "bearer", "token": token(url)}, "paginator": pages},
            "resources": [
                {
                    "name": "events",
                    "primary_key": "eventId",
                    "write_disposition": "merge",
                    "endpoint": {
                        "path": PATH,
                        "method": "POST",
                        "json": body,
                        "incremental": {
                            "cursor_path": "aggregateRecordModified",
                            "initial_value": "2000-01-01T00:00:00Z",
                        },
                    },
                }
            ],
        }
    )


if task == "sync":
    pipeline = dlt.pipeline(
        "bench", destination=dlt.destinations.duckdb(FILE), dataset_name="main_rows", pipelines_dir=f"{folder}/dlt"
    )
    # dlt's default format, `insert_values`, needs 7.9 GB of memory for 30,000 events: see `rowsMax` in peers.ts.
    timed(lambda: pipeline.run(source(), loader_file_format=loader))
else:
    held = duckdb.connect(FILE, read_only=True)
    count = "(SELECT count(*) FROM main_rows.events__{} c WHERE c._dlt_parent_id = e._dlt_id)"
    dump(
        held.sql(f"""
            SELECT event_id, epoch_us(aggregate_record_modified::TIMESTAMPTZ) // 1000, {count.format("meeting_rooms")}, {count.format("assignments")}
            FROM main_rows.events e""")
    )
