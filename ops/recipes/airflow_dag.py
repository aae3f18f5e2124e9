"""Airflow 3: builds models each hour, as soon as the rows of the hour that has ended are published.

The folder TIDEMARK_FOLDER contains tidemark.yaml. Exit code 3 of `wait` means that a report is paused or off: the task
is skipped instead of tried again, because waiting does not help.
"""

import os

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

FOLDER = os.environ.get("TIDEMARK_FOLDER", "/srv/tidemark")
TIDEMARK = os.environ.get("TIDEMARK", "npx tidemark")
COUNT = "SELECT status, count(*) AS events FROM current.events GROUP BY ALL ORDER BY ALL"

with DAG("events_by_status", schedule="@hourly", start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), catchup=False):
    complete = BashOperator(
        task_id="events_are_complete",
        bash_command=TIDEMARK + " wait events --until '{{ data_interval_end }}' --timeout 1h",
        cwd=FOLDER,
        skip_on_exit_code=3,
        append_env=True,
    )
    build = BashOperator(
        task_id="events_by_status",
        bash_command=f'{TIDEMARK} query --format csv "{COUNT}" > events_by_status.csv',
        cwd=FOLDER,
        append_env=True,
    )
    complete >> build
