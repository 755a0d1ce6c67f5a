"""A map of one's own and a combine of the engine's: bytes sent to each host, of a web server's log."""

import sys

import tegula as tg


def host_and_bytes(line: str) -> tuple[str, int] | None:
    """Return a host and the bytes sent to it."""
    fields = line.split()
    return (fields[0], int(fields[9])) if fields[9] != "-" else None


answer = tg.text(sys.argv[1]).map(host_and_bytes).sum().run(progress=False)
for host, total in answer.top(5):
    print(host, total)
