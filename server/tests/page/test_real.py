"""The page of a real server, with real jobs: TEGULA=path of the program. Without it, these tests are skipped."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Watched
from fake import wait_for
from playwright.sync_api import Browser, Page, expect

PROGRAM = os.environ.get("TEGULA")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="TEGULA names no program")


class RealServer:
    """A `tegula serve` on a free port, whose jobs outlive its process."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        flags = {
            "--listen": self.address,
            "--root": self.folder,
            "--home": self.folder / "jobs",
            "--token-file": self.folder / "token",
        }
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *(part for flag in flags.items() for part in flag)],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        found = re.match(r"http://([\d.:]+)/#token=(\w+)", line)
        assert found, line
        # It comes back at the same address.
        self.address, self.token = found[1], found[2]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"http://{self.address}/api/{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def submit(self, *command: str, **fields: Any) -> int:
        return self.ask("jobs", {"command": command} | fields)["id"]

    def state(self, job: int) -> str:
        return self.ask(f"jobs/{job}")["state"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text of 200 MB, which takes some seconds, and a small one with a hostile word."""
    folder = tmp_path_factory.mktemp("real")
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=3)) for _ in range(1000)]
    block = "\n".join(
        " ".join(chance.choices(words, k=12)) for _ in range(20_000)
    ).encode()
    with open(folder / "large.txt", "wb") as file:
        for _ in range(200_000_000 // len(block)):
            file.write(block + b"\n")
    hostile = (
        b"<img/src=x/onerror=window.attacked=true> \xff\xfe " + "\u202e\u0645 ".encode()
    )
    (folder / "small.txt").write_bytes(hostile * 1000 + b"word " * 500)
    return folder


@pytest.fixture
def real(folder: Path) -> Iterator[RealServer]:
    server = RealServer(folder)
    yield server
    server.kill()


@pytest.fixture
def watch(
    browser: Browser, real: RealServer, watched: Watched
) -> Iterator[Callable[[int | None], Page]]:
    contexts = []

    def watch(job: int | None = None) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 1400})
        contexts.append(context)
        page = context.new_page()
        watched.watch(page)
        route = "" if job is None else f"&job={job}"
        page.goto(f"http://{real.address}/#token={real.token}{route}")
        page.wait_for_selector(f"{'.list' if job is None else '.job'}:not([aria-busy])")
        return page

    yield watch
    for context in contexts:
        context.close()
    assert watched.faults == []
    assert watched.hosts <= {real.address}


def figures_are_those_of(page: Page, real: RealServer, job: int) -> None:
    """Compare the page with what the server says of a job that is done."""
    said = real.ask(f"jobs/{job}")
    stats = said["stats"]
    for name in ("keys", "bytes", "files", "pairs", "tiles", "workers"):
        expect(page.locator(f"[data-stat={name}]")).to_have_attribute(
            "title", str(stats[name])
        )
    expect(page.locator("[data-figure=progress]")).to_contain_text("100 %")
    expect(page.locator("[data-figure=keys]")).to_contain_text(f"{stats['keys']:,}")
    counts = said["tiles"]["counts"]
    waiting = page.locator(".tiles [data-tile=w] b")
    expect(waiting).to_have_text("0")
    done = sum(counts.values())
    expect(page.locator(".tiles .panel-side")).to_contain_text(f"{done} of {done} tile")


def test_figures_and_top_are_those_of_the_job(real, watch):
    job = real.submit("wordcount", "--top", "10", "small.txt")
    page = watch(job)
    expect(page.locator(".state")).to_have_text("done", timeout=20_000)
    figures_are_those_of(page, real, job)
    answer = page.locator(".answer-text").inner_text().splitlines()
    assert len(answer) == 4 and answer[0].split("\t")[1] == "1000"
    keys = page.locator(".top .key-text").all_text_contents()
    values = page.locator(".top td.number").all_inner_texts()
    if keys:
        assert "<img/src=x/onerror=window.attacked=true>" in keys and "fffe" in keys
        assert [value.replace(",", "") for value in values] == [
            line.split("\t")[1] for line in answer
        ]
    assert page.evaluate("window.attacked") is None
    page.keyboard.press("s")
    readout = page.locator(".tiles .readout")
    expect(readout).to_contain_text("small.txt")
    expect(readout).to_contain_text("0 B to its end")
    seconds = page.locator(".stage[data-state=done] .stage-time").all_inner_texts()
    assert len(seconds) == 5 and all(seconds)


def test_keys_of_other_jobs_are_their_values(real, watch):
    (real.folder / "methods.txt").write_text("GET\n" * 4821 + "PUT\n" * 12)
    (real.folder / "users.txt").write_text("ann login 100\nann logout 1000\n")
    for command, name, keys, values in [
        (["top", "2", "methods.txt"], "value", ["GET", "PUT"], ["4,821", "12"]),
        (["logstats", "users.txt"], "user", ["ann"], ["900"]),
    ]:
        page = watch(real.submit(*command))
        expect(page.locator(".state")).to_have_text("done", timeout=20_000)
        expect(page.locator(".top .key-text")).to_have_text(keys)
        expect(page.locator(".top td.number")).to_have_text(values)
        expect(page.locator(".top thead th").nth(1)).to_have_text(name)


def test_a_killed_server_and_its_job_go_on(real, watch, watched):
    watched.expected = ("net::ERR",)
    job = real.submit("wordcount", "--words", "unicode", "--top", "5", "large.txt")
    page = watch(job)
    wait_for(lambda: real.state(job) == "running", 20)
    expect(page.locator(".cores table tbody tr").first).to_be_attached(timeout=20_000)
    # Of a job at work, the server says when each stage began.
    mapping = page.locator(".stage[data-stage=map] .stage-time")
    expect(mapping).to_have_text(re.compile(r"\d"))
    # A fast machine may be done by now.
    was_running = real.state(job) == "running"
    real.kill()
    expect(page.locator("#link")).to_have_text("no connection")
    real.start()
    expect(page.locator("#link")).to_have_text("live", timeout=10_000)
    expect(page.locator(".state")).to_have_text("done", timeout=60_000)
    assert real.ask(f"jobs/{job}")["attempts"] == (2 if was_running else 1)
    figures_are_those_of(page, real, job)


def test_a_job_is_cancelled_and_another_waits(real, watch):
    job = real.submit("wordcount", "--words", "unicode", "large.txt")
    page = watch(job)
    page.keyboard.press("x")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".state")).to_have_text("cancelled", timeout=20_000)
    assert real.state(job) == "cancelled"
    page.get_by_role("link", name="All jobs", exact=True).click()
    expect(page.locator(f".over [data-job='{job}'] .row-mark")).to_have_text(
        "cancelled"
    )


def test_a_job_that_fails_says_why(real, watch):
    job = real.submit("stations", "small.txt")
    page = watch(job)
    expect(page.locator(".state")).to_have_text("failed", timeout=20_000)
    message = real.ask(f"jobs/{job}")["message"]
    expect(page.get_by_role("alert")).to_have_text(message)
    expect(page.locator(".log-text")).to_contain_text("small.txt")
