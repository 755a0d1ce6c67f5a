#!/usr/bin/env python3
"""How late and how heavy the page of a server of jobs is: first paint, bytes of its stream, and its last tile.

Takes a folder of inputs and tegula's binary, and drives Chromium by Playwright (`make bench-serve` has an environment
with it); prints a Markdown table and writes the raw results. Ends with exit code 1 where a goal is missed.

    python bench/compare/serve_page.py --corpus bench/corpus --tegula target/release/tegula
"""

import os
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from measure import arguments, run_script, table, version_of, write_rows
from playwright.sync_api import Browser, Page, sync_playwright
from serve import Server, part_of, serving

RUNS = 5
# Parts of 100 MB that the watched job reads.
PARTS = 20
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or "/usr/bin/chromium"
)
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
# Tells when the counts beside the grid first say that all tiles are done, by the clock of the machine.
LAST_TILE = """() => new Promise((done) => {
  const look = () => {
    const count = (letter) => document.querySelector(`.tiles [data-tile=${letter}] b`)?.textContent;
    const side = document.querySelector(".tiles .panel-side")?.textContent ?? "";
    if (side.includes("done") && count("w") === "0" && count("r") === "0") return done(Date.now() / 1000);
    requestAnimationFrame(look);
  };
  look();
})"""


def first_paint(page: Page, server: Server, job: int) -> float:
    """Open the page of a job; milliseconds to its first picture."""
    page.goto(f"{server.url}/#token={server.token}&job={job}")
    page.wait_for_selector(".job:not([aria-busy])")
    return page.evaluate(PAINT)


def watch(browser: Browser, server: Server, command: list[str]) -> dict[str, float]:
    """Watch a job from its begin to its end."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    received = {"bytes": 0}
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")

    def add(event: dict[str, int]) -> None:
        received["bytes"] += event["encodedDataLength"] or event["dataLength"]

    network.on("Network.dataReceived", add)
    job = server.submit(command)
    beside_ms = first_paint(page, server, job)
    received["bytes"] = 0
    began = time.monotonic()
    seen_s = page.evaluate(LAST_TILE)
    watched_s = time.monotonic() - began
    stream_bytes = received["bytes"]
    # The map stage ends with its last tile.
    over = server.wait(job)
    stages = {one["stage"]: one["wall_s"] for one in over["stats"]["stages"]}
    after_s = stages.get("reduce", 0) + stages.get("merge", 0) + stages.get("output", 0)
    page.close()
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    paint_ms = first_paint(page, server, job)
    page.close()
    return {
        "first_paint_ms": paint_ms,
        "first_paint_beside_a_job_ms": beside_ms,
        "stream_bytes_s": stream_bytes / watched_s,
        "last_tile_late_s": seen_s - (over["ended_at_s"] - after_s),
    }


def main() -> int:
    options = arguments("The page of a server.", "serve_page.json").parse_args()
    runs = []
    with (
        tempfile.TemporaryDirectory(dir=options.corpus) as folder,
        sync_playwright() as playwright,
    ):
        root = Path(folder).resolve()
        part = part_of(options.corpus / "letters.txt", root)
        command = ["wordcount", "--words", "unicode", "--top", "20"]
        command += [str(part)] * PARTS
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        with serving(options.tegula, root) as server:
            runs = [watch(browser, server, command) for _ in range(RUNS)]
        browser.close()

    def middle(name: str) -> float:
        return median(run[name] for run in runs)

    paint_ms = middle("first_paint_ms")
    beside_ms = middle("first_paint_beside_a_job_ms")
    late_ms, stream = 1000 * middle("last_tile_late_s"), middle("stream_bytes_s") / 1000
    goals = [
        (
            "first paint of a job's page",
            f"{paint_ms:.0f} ms",
            "<= 150 ms",
            paint_ms <= 150,
        ),
        (
            "the same while the job has all cores",
            f"{beside_ms:.0f} ms",
            "-",
            True,
        ),
        (
            "the page's last tile after the last tile",
            f"{late_ms:.0f} ms",
            "<= 300 ms",
            late_ms <= 300,
        ),
        ("a page's stream", f"{stream:.1f} kB/s", "<= 10 kB/s", stream <= 10),
    ]
    rows = [
        [name, value, goal, "yes" if reached else "no"]
        for name, value, goal, reached in goals
    ]
    print(table(["figure", "measured", "goal", "reached"], rows))
    versions = {"tegula": version_of(options.tegula)}
    write_rows(options.out, runs, versions)
    return 0 if all(reached for *_, reached in goals) else 1


if __name__ == "__main__":
    run_script(main)
