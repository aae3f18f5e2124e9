"""The common part of the peers: the address of the service's events, its token, and the form of the results."""

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
    """Returns the peak memory of this process in MB. getrusage may return that of the parent process."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1000


def timed(work):
    """Runs `work` and prints its duration in ms and the peak memory. Python's start and imports are not measured."""
    begun = time.monotonic()
    work()
    print(json.dumps({"ms": (time.monotonic() - begun) * 1000, "peakMb": peak_mb()}))


def dump(rows):
    """Prints one line per row: key, modification time in milliseconds, number of items in each list."""
    lines = [",".join("0" if value is None else str(value) for value in row) + "\n" for row in rows.fetchall()]
    sys.stdout.writelines(lines)
