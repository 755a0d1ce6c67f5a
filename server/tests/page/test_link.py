"""The connection: token and cookie, one stream, reconnection, hidden pages, and polling where there is no stream."""

from __future__ import annotations

from fake import wait_for
from playwright.sync_api import Page, expect

DOWN = (
    "Failed to load resource: net::ERR",
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED",
    "ERR_EMPTY_RESPONSE",
)


def hide(page: Page, is_hidden: bool) -> None:
    """Hides a tab as far as the page can see. (Without a window, Chromium hides none.)"""
    page.evaluate(
        """is_hidden => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => is_hidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def test_the_token_becomes_a_cookie_and_leaves_the_address(server, open_page, watched):
    server.add(at_s=1.0)
    page = open_page(1)
    assert page.url == f"{server.url}#job=1"
    cookies = page.context.cookies()
    assert [(cookie["httpOnly"], cookie["sameSite"]) for cookie in cookies] == [
        (True, "Strict")
    ]
    assert all(server.token not in request.path for request in server.requests)
    given = [
        request for request in server.requests if "Authorization" in request.headers
    ]
    assert [request.path for request in given] == ["/api/session"]
    page.reload()
    expect(page.locator(".state")).to_have_text("running")


def test_without_a_token_the_page_asks_for_it(server, open_page, watched):
    watched.expected = ("401",)
    page = open_page(token="wrong")
    expect(page.get_by_role("alert")).to_have_text("That is not this server's token.")
    page.get_by_label("Token").fill(server.token)
    page.keyboard.press("Enter")
    expect(page.locator(".list h1")).to_have_text("Jobs")
    # A cookie that is no longer valid, while the page is open.
    page.context.clear_cookies()
    hide(page, True)
    hide(page, False)
    expect(page.locator("h1")).to_have_text("This server wants its token")


def test_a_job_that_is_not_there(server, open_page, watched):
    watched.expected = ("404",)
    page = open_page()
    page.evaluate("location.hash = '#job=99'")
    expect(page.locator("h1")).to_have_text("There is no such job")
    page.get_by_role("link", name="All jobs", exact=True).click()
    expect(page.locator(".list h1")).to_have_text("Jobs")


def test_there_is_one_stream_a_page_and_none_while_it_is_hidden(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page()
    wait_for(lambda: [stream.job for stream in server.streams] == [None])
    page.get_by_role("link", name=job.name).first.click()
    wait_for(lambda: [stream.job for stream in server.streams] == [job.id])
    hide(page, True)
    expect(page.locator("#link")).to_have_attribute("data-link", "paused")
    wait_for(lambda: server.streams == [])
    server.advance(job, 1.0)
    hide(page, False)
    wait_for(lambda: [stream.job for stream in server.streams] == [job.id])
    part = job.progress()["bytes_done"] / job.bytes
    expect(page.locator("[data-figure=progress]")).to_contain_text(
        f"{part * 100:.1f} %"
    )
    expect(page.locator("#link")).to_have_attribute("data-link", "live")


def test_a_restart_of_the_server_is_survived(server, open_page, watched):
    watched.expected = DOWN
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    server.advance(job, 0.25)
    expect(page.locator("#link")).to_have_text("live")
    server.stop()
    expect(page.locator("#link")).to_have_text("no connection")
    expect(page.locator(".state")).to_have_text("running")
    server.start()
    expect(page.locator("#link")).to_have_text("live", timeout=8000)
    streams = [
        request for request in server.requests if request.path.startswith("/api/events")
    ]
    assert "Last-Event-ID" not in streams[0].headers
    assert streams[-1].headers["Last-Event-ID"].startswith("fake-")
    server.advance(job, 0.5)
    part = job.progress()["bytes_done"] / job.bytes
    expect(page.locator("[data-figure=progress]")).to_contain_text(
        f"{part * 100:.1f} %"
    )
    server.finish(job)
    expect(page.locator(".state")).to_have_text("done")


def test_without_a_stream_the_page_asks_every_two_seconds(server, open_page, watched):
    watched.expected = ("429",)
    server.streams_most = 0
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    expect(page.locator("#link")).to_have_text("every 2 s")
    job.finish()
    expect(page.locator(".state")).to_have_text("done")
    listed = open_page()
    expect(listed.locator("#link")).to_have_text("every 2 s")
    expect(listed.locator(".over .row")).to_have_count(1)


def test_eight_pages_at_once(server, open_page):
    job = server.add(at_s=1.0)
    pages = [
        open_page(job.id, viewport={"width": 800, "height": 500}) for _ in range(3)
    ]
    context = pages[0].context
    # Browsers open six connections to a server and no more, so tabs that are not looked at give theirs back.
    for _ in range(5):
        hide(pages[-1], True)
        page = context.new_page()
        page.goto(f"{server.url}#job={job.id}")
        page.wait_for_selector(".job:not([aria-busy])")
        pages.append(page)
    server.finish(job)
    for page in pages:
        hide(page, False)
    for page in pages[-4:]:
        expect(page.locator(".state")).to_have_text("done")


def test_little_is_sent_and_nothing_is_asked_again(server, open_page):
    job = server.add(at_s=1.0, bytes_per_s=20 << 20, tiles=1800)
    page = open_page(job.id)
    before = len(server.requests)
    server.advance(job, 2.0)
    expect(page.locator("#link")).to_have_text("live")
    page.wait_for_timeout(300)
    later = [request.path for request in server.requests[before:]]
    assert all("/log?" in path for path in later)


def test_the_first_picture_is_there_soon(server, open_page):
    server.add(at_s=1.0)
    page = open_page()
    page.reload()
    page.wait_for_selector(".list:not([aria-busy])")
    painted_ms = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    )
    assert painted_ms < 1000, "150 ms on a machine that is not busy"


def test_answers_that_are_not_whole_end_no_polling(server, open_page, watched):
    watched.expected = ("429", "ERR_CONTENT_LENGTH_MISMATCH")
    server.streams_most = 0
    job = server.add(at_s=1.0)
    page = open_page()
    expect(page.locator("#link")).to_have_text("every 2 s")
    halves = ['{"machine":', "<html>"]
    for _ in range(len(halves)):
        page.route(
            "**/api/overview", lambda route: route.fulfill(body=halves.pop(0)), times=1
        )
        expect(page.locator("#link")).to_have_text("no connection")
        expect(page.locator("#link")).to_have_text("every 2 s")
    job.finish()
    expect(page.locator(".over .row")).to_have_count(1)
