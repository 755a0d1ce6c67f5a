"""The browser, a server of jobs, and a page that fails the test if anything goes wrong in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from fake import FakeServer
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

# Debian's Chromium; the one without a window, of the same source, takes half the time.
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or "/usr/bin/chromium"
)

# A browser beside other work, such as the tests of another part, may take its time.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # In a container it cannot have a sandbox of its own.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.stop()


class Watched:
    """What went wrong in the pages of a test, and which hosts they asked."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.hosts: set[str] = set()
        # Messages that a test brings about, such as of a server that is down.
        self.expected: tuple[str, ...] = ()

    def watch(self, page: Page) -> None:
        page.on("console", self.said)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(
            part in message.text for part in self.expected
        ):
            self.faults.append(f"{message.type}: {message.text}")


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def open_page(
    browser: Browser, server: FakeServer, watched: Watched
) -> Iterator[Callable[..., Page]]:
    """Opens a page of the server with its token: the list, or a job. Afterwards nothing must have gone wrong in it."""
    contexts = []

    def open_page(
        job: int | None = None, *, token: str | None = None, **options
    ) -> Page:
        context = browser.new_context(
            **({"viewport": {"width": 1440, "height": 1400}} | options)
        )
        contexts.append(context)
        page = context.new_page()
        watched.watch(page)
        route = "" if job is None else f"&job={job}"
        page.goto(f"{server.url}#token={token or server.token}{route}")
        if token is None:
            view = ".list" if job is None else ".job"
            page.wait_for_selector(f"{view}:not([aria-busy])")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched.faults == []
    assert watched.hosts <= {f"127.0.0.1:{server.port}"}
