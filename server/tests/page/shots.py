"""Takes pictures of the page at three widths, light and dark: python shots.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from fake import FakeServer
from playwright.sync_api import sync_playwright
from states import GIB, MIB
import time

WIDTHS = (390, 900, 1440)
CHROMIUM = "/usr/bin/chromium"


def machine_at_work() -> tuple[FakeServer, int, int, int]:
    """A machine of 16 cores with jobs of all states. The jobs are one that runs, one that is done, one that failed."""
    server = FakeServer(cores=16, group=8, memory_bytes=64 * GIB)
    server.uptime_s = 277_000
    server.users = [
        {"name": "ada", "weight": 1, "running": 2, "queued": 1, "core_s": 5120.0},
        {"name": "grace", "weight": 2, "running": 1, "queued": 2, "core_s": 8821.0},
    ]
    now = time.time()
    done = server.add(name="access logs by hour", command=["logstats", "--key", "hour", "logs/2026-11"], user="ada", created_at_s=now - 5400, workers=8, tiles=640, saves=True)
    done.finish()
    failed = server.add(name="stations, whole archive", command=["stations", "archive/stations.txt"], user="grace", created_at_s=now - 3700, tiles=420, at_s=6.2)
    failed.finish("failed")
    failed.message = "archive/stations.txt, line 88,120,411, byte 1,312,090,113: no number after ';'; --skip-bad passes it over"
    failed.log = "bad record: " + failed.message + "\n"
    server.add(name="sort of part 7", command=["sort", "-o", "x", "part-7.bin"], user="ada", created_at_s=now - 2500, tiles=300, at_s=3.2, has_tiles=False, has_shows=False).finish("cancelled")
    for part in range(1, 5):
        server.add(name=f"grep timeouts, shard {part}", command=["grep", "timeout|reset", f"logs/shard-{part}"], user="grace", created_at_s=now - 2000 + 300 * part, tiles=64 * part).finish()
    books = server.add(
        name="books, words alpha, top 10",
        user="ada",
        command=["wordcount", "--words", "alpha", "--top", "10", "books/"],
        created_at_s=now - 24,
        workers=8,
        tiles=1800,
        bytes_per_s=1.9 * GIB,
        memory_bytes=8 * GIB,
        spills=True,
        found=240,
        at_s=18.4,
        paths=[f"books/gutenberg/part-{number:03}.txt.zst" for number in range(60)],
        log="plan: 60 files, 56.25 GiB, 1,800 tiles of 32 MiB\nstate: 240 tiles found again\nmap: 8 workers, cache 33.6 MiB, tables of 4 MiB\nspill: 512 MiB to scratch, 8 partitions\n",
    )
    server.add(name="inverted index of the wiki", command=["index", "--word", "be", "wiki/"], user="grace", created_at_s=now - 61, workers=5, first_core=8, tiles=900, bytes_per_s=0.5 * GIB, memory_bytes=16 * GIB, at_s=31)
    server.add(name="top 100 by bytes", command=["top", "100", "events.jsonl", "--json", "user.id", "--sum", "bytes"], user="ada", created_at_s=now - 9, workers=3, first_core=13, tiles=200, bytes_per_s=0.3 * GIB, memory_bytes=4 * GIB, at_s=7)
    server.add(name="k-means, 12 centres", command=["kmeans", "--centres", "12", "points.bin"], user="grace", state="queued", priority=5, created_at_s=now - 44, memory_bytes=32 * GIB)
    server.add(name="word pairs of الكتب العربية", command=["wordcount", "arabic/"], user="ada", state="queued", created_at_s=now - 30)
    server.add(name="linreg of sensors", command=["linreg", "sensors.npy"], user="grace", state="queued", created_at_s=now - 12)
    return server, books.id, done.id, failed.id


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    server, running, done, failed = machine_at_work()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for theme in ("light", "dark"):
            for width in WIDTHS:
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=theme
                )
                page = context.new_page()
                page.goto(f"{server.url}#token={server.token}")
                page.wait_for_selector(".list:not([aria-busy])")
                page.wait_for_timeout(250)
                page.screenshot(
                    path=folder / f"list-{width}-{theme}.png", full_page=True
                )
                for name, job in (
                    ("job", running),
                    ("done", done),
                    ("failed", failed),
                ):
                    page.evaluate(f"location.hash = '#job={job}'")
                    page.wait_for_selector(f".job:not([aria-busy]) >> text=job {job}")
                    if name == "job":
                        server.advance(server.jobs[running], 0.01)
                    page.wait_for_timeout(400)
                    page.screenshot(
                        path=folder / f"{name}-{width}-{theme}.png", full_page=True
                    )
                context.close()
        browser.close()
    server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
