"""Prefect 3: a flow that begins with complete rows. The folder TIDEMARK_FOLDER contains tidemark.yaml."""

import os
import shlex
import subprocess

from prefect import flow, task

FOLDER = os.environ.get("TIDEMARK_FOLDER", "/srv/tidemark")
TIDEMARK = shlex.split(os.environ.get("TIDEMARK", "npx tidemark"))


@task
def events_are_complete() -> None:
    subprocess.run([*TIDEMARK, "wait", "events", "--fresh", "10m", "--timeout", "1h"], cwd=FOLDER, check=True)


@task
def count_events() -> None:
    count = "SELECT status, count(*) AS events FROM current.events GROUP BY ALL ORDER BY ALL"
    with open(os.path.join(FOLDER, "events_by_status.csv"), "w", encoding="utf-8") as file:
        subprocess.run([*TIDEMARK, "query", "--format", "csv", count], cwd=FOLDER, check=True, stdout=file)


@flow
def events_by_status() -> None:
    events_are_complete()
    count_events()


if __name__ == "__main__":
    events_by_status()
