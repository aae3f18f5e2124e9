"""Dagster: the published events as an asset with a freshness check, and an asset that follows them.

The folder TIDEMARK_FOLDER contains tidemark.yaml.
"""

import json
import os
import shlex
import subprocess

from dagster import AssetCheckResult, Definitions, Failure, MaterializeResult, asset, asset_check

FOLDER = os.environ.get("TIDEMARK_FOLDER", "/srv/tidemark")
TIDEMARK = shlex.split(os.environ.get("TIDEMARK", "npx tidemark"))


def tidemark(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TIDEMARK, *words], cwd=FOLDER, capture_output=True, text=True, check=False)


@asset
def events() -> MaterializeResult:
    """The published events, complete up to ten minutes ago."""
    waited = tidemark("wait", "events", "--fresh", "10m", "--timeout", "1h", "--json")
    if waited.returncode == 2:
        raise Failure(waited.stderr, allow_retries=False)
    report = json.loads(waited.stdout)["reports"][0]
    if report["state"] != "complete":
        # A report that is paused or off (exit code 3) does not become complete by a retry.
        raise Failure(f"events: {report['reason']}", allow_retries=waited.returncode != 3)
    return MaterializeResult(metadata={"complete_up_to": report["mark"]})


@asset_check(asset=events)
def events_are_fresh() -> AssetCheckResult:
    """Passes if the events are complete up to an hour ago."""
    waited = tidemark("wait", "events", "--fresh", "1h", "--timeout", "0s")
    return AssetCheckResult(passed=waited.returncode == 0, metadata={"tidemark": waited.stdout + waited.stderr})


@asset(deps=[events])
def events_by_status() -> None:
    query = tidemark("query", "--format", "csv", "SELECT status, count(*) AS events FROM current.events GROUP BY ALL ORDER BY ALL")
    if query.returncode != 0:
        raise Failure(query.stderr)
    with open(os.path.join(FOLDER, "events_by_status.csv"), "w", encoding="utf-8") as file:
        file.write(query.stdout)


defs = Definitions(assets=[events, events_by_status], asset_checks=[events_are_fresh])
