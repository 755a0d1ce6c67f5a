"""Takes pictures of the page at three widths, light and dark: python shots.py FOLDER.

With the address of a job of a real server (`http://...#token=...&job=1`) as well, only the picture for the README.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from conftest import CHROMIUM
from fake import FakeServer
from playwright.sync_api import Browser, Page, sync_playwright
from states import GIB, Job

WIDTHS = (390, 900, 1440)
THEMES = ("light", "dark")
LOG = """\
plan: 60 files, 56.25 GiB, 1,800 tiles of 32 MiB
state: 240 tiles found again
map: 8 workers, cache 33.6 MiB, tables of 4 MiB
spill: 512 MiB to scratch, 8 partitions
"""
BAD = [
    ("line 88,120,411, byte 1,312,090,113", "no number after ';'"),
    ("line 90,204,118, byte 1,344,870,002", "no ';'"),
]
WIKI = [
    "wiki",
    "category",
    "references",
    "\u043c\u043e\u0441\u043a\u0432\u0430",
    "\u6771\u4eac",
    "born",
]


def over(server: FakeServer, now: float) -> tuple[Job, Job]:
    """Jobs that are over: one that is done, one that failed, and others."""
    done = server.add(
        name="access logs by hour",
        command=["logstats", "--key", "hour", "logs/2026-11"],
        user="ada",
        created_at_s=now - 5400,
        workers=8,
        tiles=640,
        bad={
            "records": 3,
            "first": [
                {"place": f"logs/2026-11/access.log, {place}", "cause": cause}
                for place, cause in BAD
            ],
        },
        log="bad records skipped: 3\n",
    )
    done.finish()
    failed = server.add(
        name="stations, whole archive",
        command=["stations", "archive/stations.txt"],
        user="grace",
        created_at_s=now - 3700,
        tiles=420,
        at_s=6.2,
        has_shows=False,
    )
    failed.finish("failed")
    failed.message = (
        f"archive/stations.txt, {BAD[0][0]}: {BAD[0][1]}; --skip-bad passes it over"
    )
    failed.log = f"bad record: {failed.message}\n"
    server.add(
        name="sort of part 7",
        command=["sort", "part-7.bin"],
        user="ada",
        created_at_s=now - 2500,
        tiles=300,
        at_s=3.2,
    ).finish("cancelled")
    for part in range(1, 5):
        server.add(
            name=f"grep timeouts, shard {part}",
            command=["grep", "timeout|reset", f"logs/shard-{part}"],
            user="grace",
            created_at_s=now - 2000 + 300 * part,
            tiles=64 * part,
        ).finish()
    return done, failed


def running(server: FakeServer, now: float) -> Job:
    """Jobs that run; the first is looked at."""
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
        log=LOG,
    )
    index = ["index", "wiki/"]
    top = ["top", "100", "events.jsonl", "--json", "user.id", "--sum", "bytes"]
    for name, user, command, age_s, first_core, workers, more in (
        ("inverted index of the wiki", "grace", index, 61, 8, 5, {"keys": WIKI}),
        ("top 100 by bytes", "ada", top, 9, 13, 3, {}),
    ):
        server.add(
            name=name,
            user=user,
            command=command,
            created_at_s=now - age_s,
            first_core=first_core,
            workers=workers,
            tiles=180 * workers,
            bytes_per_s=0.1 * workers * GIB,
            memory_bytes=4 * GIB,
            at_s=age_s / 2,
            **more,
        )
    return books


def waiting(server: FakeServer, now: float) -> None:
    server.add(
        name="k-means, 12 centres",
        command=["kmeans", "--centres", "12", "points.bin"],
        user="grace",
        state="queued",
        priority=5,
        created_at_s=now - 44,
        memory_bytes=32 * GIB,
    )
    for name, command, age_s in (
        (
            "words of \u0627\u0644\u0643\u062a\u0628 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
            ["wordcount", "arabic/"],
            30,
        ),
        ("linreg of sensors", ["linreg", "sensors.npy"], 12),
    ):
        server.add(
            name=name,
            command=command,
            user="ada",
            state="queued",
            created_at_s=now - age_s,
        )


def machine_at_work() -> tuple[FakeServer, dict[str, Job]]:
    """A machine of 16 cores with jobs of all states, and those that are looked at."""
    server = FakeServer(cores=16, group=8, memory_bytes=64 * GIB)
    server.uptime_s = 277_000
    server.users = [
        {"name": "ada", "weight": 1, "running": 2, "queued": 2, "core_s": 5120.0},
        {"name": "grace", "weight": 2, "running": 1, "queued": 1, "core_s": 8821.0},
    ]
    now = time.time()
    done, failed = over(server, now)
    looked_at = {"job": running(server, now), "done": done, "failed": failed}
    waiting(server, now)
    return server, looked_at


def take_all(browser: Browser, server: FakeServer, jobs: dict[str, Job], folder: Path):
    for theme in THEMES:
        for width in WIDTHS:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme
            )
            page = context.new_page()
            page.goto(f"{server.url}#token={server.token}")
            page.wait_for_selector(".list:not([aria-busy])")
            take(page, folder / f"list-{width}-{theme}.png")
            for name, job in jobs.items():
                page.evaluate(f"location.hash = '#job={job.id}'")
                page.wait_for_selector(f".job:not([aria-busy]) >> text=job {job.id}")
                # The log is asked for when it comes into view.
                page.locator(".log").scroll_into_view_if_needed()
                page.evaluate("scrollTo(0, 0)")
                if name == "job":
                    page.locator(".tiles-canvas").focus()
                    page.evaluate("document.activeElement.blur()")
                take(page, folder / f"{name}-{width}-{theme}.png")
            context.close()


def take_others(
    browser: Browser, server: FakeServer, jobs: dict[str, Job], folder: Path
):
    """Takes what is seen now and then: the last minute, a tile that is pointed at, dialogs, nothing at all."""
    for theme in THEMES:
        page = browser.new_page(
            viewport={"width": 1440, "height": 900}, color_scheme=theme
        )
        page.goto(server.url)
        take(page, folder / f"token-{theme}.png")
        page.goto(f"{server.url}#token={server.token}&job={jobs['job'].id}")
        page.wait_for_selector(".job:not([aria-busy])")
        server.advance(jobs["job"], 3.0)
        page.keyboard.press("m")
        page.locator(".tiles-canvas").hover(position={"x": 300, "y": 150})
        take(page, folder / f"minute-{theme}.png")
        page.keyboard.press("x")
        take(page, folder / f"cancel-{theme}.png")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        take(page, folder / f"help-{theme}.png")
        page.close()
    empty = FakeServer()
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{empty.url}#token={empty.token}")
    page.wait_for_selector(".list:not([aria-busy])")
    take(page, folder / "empty-light.png")
    page.close()
    empty.stop()


def take_for_readme(browser: Browser, address: str, path: Path) -> None:
    """Takes the picture that the README shows: the window alone, with a tile that is pointed at."""
    page = browser.new_page(
        viewport={"width": 1440, "height": 1000}, color_scheme="dark"
    )
    page.goto(address)
    page.wait_for_selector(".job:not([aria-busy])")
    canvas = page.locator(".tiles-canvas")
    box = canvas.bounding_box() or {"width": 10, "height": 10}
    canvas.hover(position={"x": box["width"] / 2, "y": box["height"] * 0.77})
    page.wait_for_timeout(600)
    page.screenshot(path=path)
    page.close()


def take(page: Page, path: Path) -> None:
    """Takes a picture of the whole page when it is still."""
    page.wait_for_timeout(400)
    page.screenshot(path=path, full_page=True)


def main(folder: Path, address: str | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        if address is None:
            server, jobs = machine_at_work()
            address = f"{server.url}#token={server.token}&job={jobs['job'].id}"
            take_for_readme(browser, address, folder / "serve.png")
            take_all(browser, server, jobs, folder)
            take_others(browser, server, jobs, folder)
            server.stop()
        else:
            take_for_readme(browser, address, folder / "serve.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
