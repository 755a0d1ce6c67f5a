#!/usr/bin/env python3
"""Checks /metrics of a server with the parsers of Prometheus, and that the dashboard asks for what is there.

python3 server/check_metrics.py target/release/tegula
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as strict,
)
from prometheus_client.parser import text_string_to_metric_families as lenient


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        argv = [sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--home", home]
        environment = os.environ | {"HOME": home}
        server = subprocess.Popen(
            argv, stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            assert server.stdout
            url, _, token = server.stdout.readline().strip().partition("/#token=")
            headers = {"Authorization": f"Bearer {token}"}
            with urllib.request.urlopen(
                urllib.request.Request(f"{url}/metrics", None, headers)
            ) as reply:
                text = reply.read().decode()
        finally:
            server.kill()
            server.wait()
    names = {family.name for family in strict(text)}
    assert names == {family.name for family in lenient(text)}
    dashboard = json.loads((Path(__file__).parent / "grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"tegula_\w+", target["expr"])
    }
    missing = asked - names
    if missing:
        print(
            f"the dashboard asks for {sorted(missing)}, which the server does not have"
        )
        return 1
    print(f"{len(names)} metrics, of which the dashboard shows {len(asked)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
