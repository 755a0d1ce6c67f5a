"""The list of jobs: what runs, waits and is over, and the machine."""

from __future__ import annotations

from fake import wait_for
from playwright.sync_api import expect
from test_link import hide


def test_jobs_are_where_their_state_puts_them(server, open_page):
    running = server.add(name="counts", at_s=1.0)
    waiting = server.add(name="waits", state="queued")
    done = server.add(name="is over")
    done.finish()
    failed = server.add(name="broke")
    failed.finish("failed")
    failed.message = "input.txt cannot be read"
    page = open_page()
    rows = {
        "running": [running],
        "waiting": [waiting],
        "over": [done, failed],
    }
    for section, jobs in rows.items():
        for job in jobs:
            expect(page.locator(f".{section} [data-job='{job.id}'] a")).to_have_text(
                job.name
            )
    expect(page.locator(".over .row[data-state=failed]")).to_contain_text(
        "input.txt cannot be read"
    )
    expect(page.locator(".over .panel-side")).to_have_text("2 jobs, 1 of these failed")
    part = running.progress()["bytes_done"] / running.bytes
    expect(page.locator(".running .bar")).to_have_attribute(
        "aria-valuenow", str(round(part * 100))
    )
    expect(page).to_have_title("1 running, 1 waiting · Tegula")


def test_the_machine_is_shared_as_the_server_says(server, open_page):
    first = server.add(name="first", workers=5, at_s=1.0)
    second = server.add(
        name="second", first_core=5, workers=2, at_s=1.0, memory_bytes=4 << 30
    )
    page = open_page()
    machine = page.locator(".machine")
    colours = page.locator(".core").evaluate_all(
        "cells => cells.map(cell => cell.dataset.colour ?? null)"
    )
    assert len(colours) == 8
    assert len(set(colours[:5])) == 1 and len(set(colours[5:7])) == 1
    assert len({colours[0], colours[5], colours[7]}) == 3 and colours[7] is None
    expect(machine).to_contain_text("7 of 8 cores in use in 2 groups with a cache each")
    expect(machine).to_contain_text("5 GiB of 16 GiB granted")
    expect(page.locator(".core").first).to_have_attribute("title", "core 0: first")
    # A job that ends gives its cores away, and the other keeps its colour.
    server.finish(first)
    second.first_core, second.workers = 0, 8
    server.tell(second)
    expect(page.locator(f".core[data-colour='{colours[5]}']")).to_have_count(8)


def test_changes_arrive_without_a_question(server, open_page):
    page = open_page()
    expect(page.locator(".running .empty")).to_contain_text("tegula submit")
    job = server.add(name="new")
    expect(page.locator(".running .row")).to_contain_text("new")
    server.advance(job, 1.0)
    expect(page.locator(".running .row")).to_contain_text("left")
    server.finish(job)
    expect(page.locator(".over .row")).to_contain_text("new")
    del server.jobs[job.id]
    server.send(None, "gone", {"id": job.id})
    expect(page.locator(".over .row")).to_have_count(0)


def test_the_queue_is_in_its_order_and_priorities_change_it(server, open_page):
    for name in "abc":
        server.add(name=name, state="queued")
    page = open_page()
    names = page.locator(".waiting .row-name")
    expect(names).to_have_text(["a", "b", "c"])
    page.locator(".waiting .row").nth(2).get_by_role(
        "button", name="begin sooner"
    ).click()
    expect(names).to_have_text(["c", "a", "b"])
    expect(page.locator(".waiting .row").first).to_contain_text("priority 1")


def test_a_job_is_cancelled_from_the_list_after_a_question(server, open_page):
    job = server.add(name="to end", at_s=1.0)
    page = open_page()
    page.get_by_role("button", name="cancel: job 1").click()
    page.get_by_role("button", name="Let it run").click()
    assert not job.cancelling
    page.get_by_role("button", name="cancel: job 1").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".running .row-mark")).to_have_text("cancelling")
    server.finish(job, "cancelled")
    expect(page.locator(".over .row-mark")).to_have_text("cancelled")


def test_older_jobs_are_loaded_by_request(server, open_page):
    for number in range(230):
        server.add(name=f"job number {number}", tiles=1).finish()
    page = open_page()
    expect(page.locator(".over .row")).to_have_count(100)
    page.get_by_role("button", name="Load older jobs").click()
    expect(page.locator(".over .row")).to_have_count(230)
    expect(page.get_by_role("button", name="Load older jobs")).to_be_hidden()
    page.get_by_role("searchbox").fill("number 7")
    expect(page.locator(".over .row")).to_have_count(11)


def add_over(server, number: int, **fields) -> None:
    """Add jobs that ended in the order of their ids."""
    for _ in range(number):
        job = server.add(tiles=1, **fields)
        job.created_at_s += job.id
        job.finish()


def test_a_job_that_ran_for_long_hides_no_older_ones(server, open_page):
    long = server.add(name="long")
    add_over(server, 300)
    page = open_page()
    rows = page.locator(".over .row")
    expect(rows).to_have_count(100)
    long.created_at_s += 1000
    server.finish(long)
    expect(rows).to_have_count(101)
    expect(page.locator(".over .row-name").first).to_have_text("long")
    # It ended last, so it is among the first rows of a new page, too.
    page.reload()
    expect(page.locator(".over .row-name").first).to_have_text("long")
    older = page.get_by_role("button", name="Load older jobs")
    older.click()
    expect(rows).to_have_count(300)
    older.click()
    expect(rows).to_have_count(301)
    expect(older).to_be_hidden()


def test_jobs_that_end_while_the_page_is_hidden_are_not_lost(server, open_page):
    add_over(server, 120, name="old")
    page = open_page()
    rows = page.locator(".over .row")
    older = page.get_by_role("button", name="Load older jobs")
    older.click()
    expect(rows).to_have_count(120)
    hide(page, True)
    wait_for(lambda: server.streams == [])
    add_over(server, 10, name="few")
    hide(page, False)
    # Those that were loaded stay, because no end was missed.
    expect(rows).to_have_count(130)
    hide(page, True)
    wait_for(lambda: server.streams == [])
    add_over(server, 150, name="many")
    for job in list(server.jobs)[:20]:
        del server.jobs[job]
    hide(page, False)
    expect(rows).to_have_count(100)
    older.click()
    expect(rows).to_have_count(260)
    expect(older).to_be_hidden()


def test_two_presses_are_two_steps(server, open_page):
    job = server.add(name="waits", state="queued")
    page = open_page()
    sooner = page.get_by_role("button", name="begin sooner")
    # The second one comes before the first is answered.
    with server.lock:
        sooner.click()
        sooner.click()
    wait_for(lambda: job.priority == 2)
    expect(page.locator(".waiting .row")).to_contain_text("priority 2")
    page.goto(f"{server.url}#job={job.id}")
    lower = page.get_by_role("button", name="lower priority")
    expect(lower).to_be_visible()
    with server.lock:
        for _ in range(3):
            lower.click()
    wait_for(lambda: job.priority == -1)


def test_a_queue_of_a_thousand_is_shown_in_part(server, open_page):
    for number in range(1000):
        server.add(name=f"job {number}", state="queued", tiles=1)
    page = open_page()
    expect(page.locator(".waiting .row")).to_have_count(100)
    expect(page.locator(".waiting .panel-side")).to_have_text(
        "1,000 jobs, the first 100"
    )
