"""What the peers have in common: where the service's events are, its token, and how results are told."""

import json
import sys
import time
import urllib.request

PATH = "/reportingapi/v1/EventReport/GetEventsReport"
TOKEN_PATH = "/authenticationapi/Account/RequestToken"
PAGE_ROWS = 1000


def token(url):
    body = json.dumps({"clientId": "demo", "clientSecret": "demo-secret"}).encode()
    request = urllib.request.Request(url + TOKEN_PATH, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["accessToken"]


def peak_mb():
    """Of this process alone: what getrusage says may be that of whoever started it."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1000


def timed(work):
    """Without the time that Python takes to start and to import."""
    begun = time.monotonic()
    work()
    print(json.dumps({"ms": (time.monotonic() - begun) * 1000, "peakMb": peak_mb()}))


def dump(rows):
    """One line a row: key, milliseconds of its stamp, how many items of each list."""
    lines = [",".join("0" if value is None else str(value) for value in row) + "\n" for row in rows.fetchall()]
    sys.stdout.writelines(lines)
