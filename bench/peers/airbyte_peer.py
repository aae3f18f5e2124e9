"""PyAirbyte: a declarative (low-code) source, merged by key into its DuckDB cache. Lists are stored as JSON columns.

bench/suites/peers.ts runs this program: `sync` runs once and prints its peak memory, `dump` prints the stored rows.
"""

import os
import sys

# Otherwise PyAirbyte reads a list of connectors from the network, which this program does not need.
os.environ.setdefault("AIRBYTE_OFFLINE_MODE", "1")
os.environ.setdefault("DO_NOT_TRACK", "1")

import airbyte as ab
import duckdb
from airbyte.caches import DuckDBCache

from wire import PAGE_ROWS, PATH, dump, timed, token

task, url, folder = sys.argv[1:4]
FILE = f"{folder}/airbyte.duckdb"


def manifest():
    requester = {
        "type": "HttpRequester",
        "url_base": url,
        "path": PATH,
        "http_method": "POST",
        "authenticator": {"type": "BearerAuthenticator", "api_token": token(url)},
        "request_body_json": {
            "modifiedSince": "{{ stream_interval.start_time }}",
            "includeDeleted": True,
            "expand": {"meetingRooms": True, "assignments": True},
        },
    }
    body = {"type": "RequestOption", "inject_into": "body_json"}
    paginator = {
        "type": "DefaultPaginator",
        "page_token_option": {**body, "field_name": "pageNumber"},
        "page_size_option": {**body, "field_name": "pageSize"},
        "pagination_strategy": {
            "type": "PageIncrement",
            "start_from_page": 1,
            "page_size": PAGE_ROWS,
            "inject_on_first_request": True,
        },
    }
    selector = {"type": "RecordSelector", "extractor": {"type": "DpathExtractor", "field_path": []}}
    kinds = {"eventId": "integer", "attendees": "integer", "name": "string", "aggregateRecordModified": "string"}
    schema = {name: {"type": ["null", kind]} for name, kind in kinds.items()}
    lists = {name: {"type": ["null", "array"]} for name in ("meetingRooms", "assignments")}
    cursor = {
        "type": "DatetimeBasedCursor",
        "cursor_field": "aggregateRecordModified",
        "datetime_format": "%Y-%m-%dT%H:%M:%S.%fZ",
        "cursor_datetime_formats": ["%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ"],
        "start_datetime": "2000-01-01T00:00:00.000000Z",
    }
    stream = {
        "type": "DeclarativeStream",
        "name": "events",
        "primary_key": ["eventId"],
        "retriever": {
            "type": "SimpleRetriever",
            "requester": requester,
            "paginator": paginator,
            "record_selector": selector,
        },
        "incremental_sync": cursor,
        "schema_loader": {
            "type": "InlineSchemaLoader",
            "schema": {"type": "object", "additionalProperties": True, "properties": {**schema, **lists}},
        },
    }
    return {
        "version": "6.0.0",
        "type": "DeclarativeSource",
        "check": {"type": "CheckStream", "stream_names": ["events"]},
        "streams": [stream],
        "spec": {"type": "Spec", "connection_specification": {"type": "object", "properties": {}}},
    }


def sync():
    source = ab.get_source("source-declarative-manifest", config={}, source_manifest=manifest())
    source.select_streams(["events"])
    source.read(cache=DuckDBCache(db_path=FILE), write_strategy="merge", skip_validation=True)


if task == "sync":
    timed(sync)
else:
    lists = ", ".join(f"coalesce(json_array_length({name}), 0)" for name in ("meetingrooms", "assignments"))
    stamp = "epoch_us(aggregaterecordmodified::TIMESTAMPTZ) // 1000"
    held = duckdb.connect(FILE, read_only=True)
    dump(held.sql(f"SELECT eventid, {stamp}, {lists} FROM main.events"))
