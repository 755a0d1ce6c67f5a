"""The page of one job: its figures are those that the server gives, while it runs and afterwards."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


def pixels(page: Page) -> dict[str, int]:
    """How many pixels of the grid have the colour of each state."""
    return page.locator(".tiles-canvas").evaluate(
        """canvas => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const counts = {};
          for (let at = 0; at < data.length; at += 4) {
            const name = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
            if (data[at + 3] === 255) counts[name] = (counts[name] ?? 0) + 1;
          }
          const probe = document.createElement("span");
          document.body.append(probe);
          const states = {};
          for (const letter of "smdfrw") {
            probe.style.color = `var(--tile-${letter})`;
            states[letter] = counts[getComputedStyle(probe).color] ?? 0;
          }
          probe.remove();
          return states;
        }"""
    )


def counts(page: Page) -> dict[str, int]:
    """Returns the counts beside the grid; those that are hidden must be 0."""
    texts = page.locator(".tiles .legend li").all_text_contents()
    found = [re.fullmatch(r"([a-z]+)([\d,]+)", text) for text in texts]
    return {match[1]: int(match[2].replace(",", "")) for match in found if match}


def test_a_running_job_shows_what_the_server_says(server, open_page):
    job = server.add(at_s=1.3, workers=4)
    page = open_page(job.id)
    said = server.snapshot(job)
    figures = page.locator(".figures")
    part = said["progress"]["bytes_done"] / said["progress"]["bytes_planned"]
    expect(figures.locator("[data-figure=progress]")).to_contain_text(
        f"{part * 100:.1f} %".replace(".0", "")
    )
    expect(figures.locator("[data-figure=throughput]")).to_contain_text("400 MiB/s")
    expect(figures.locator("[data-figure=time-left]")).to_contain_text(
        f"0:0{said['progress']['left_s']:.0f}"
    )
    expect(figures.locator("[data-figure=keys]")).to_contain_text(
        f"{said['progress']['keys_held']:,}"
    )
    expect(figures.locator("[data-figure=memory]")).to_contain_text("of 1 GiB")
    expect(figures.locator("[data-figure=spilled]")).to_contain_text("0 B")
    expect(page.locator(".state")).to_have_text("running")
    expect(page.locator(".command")).to_have_text(
        "cd /data && tegula wordcount --words alpha --top 10 books"
    )
    stages = page.locator(".stage")
    expect(stages.nth(0)).to_have_attribute("data-state", "done")
    expect(stages.nth(1)).to_have_attribute("data-state", "now")
    expect(stages.nth(2)).to_have_attribute("data-state", "waiting")
    shown = counts(page)
    assert shown == said["tiles"]["counts"]
    rows = page.locator(".cores table tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("worker-0")
    expect(rows.first).to_contain_text(re.compile(r"map \d+"))


def test_changes_move_the_page(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    server.advance(job, 1.2)
    part = job.progress()["bytes_done"] / job.bytes
    expect(page.locator("[data-figure=progress]")).to_contain_text(
        f"{part * 100:.1f} %"
    )
    assert counts(page)["waiting"] == job.tile_grid()["counts"]["waiting"]
    expect(page.locator(".top tbody tr")).to_have_count(10)
    page.get_by_role("button", name="last minute").click()
    expect(page.get_by_role("button", name="last minute")).to_have_attribute(
        "aria-pressed", "true"
    )
    drawn = page.locator(".cores canvas").evaluate(
        """canvas => new Set(new Uint32Array(
          canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )
    assert drawn >= 4, "kinds of work are drawn in colours of their own"


def drawn_after_ms(server, open_page) -> int:
    """Returns the time from the end of a job to the first frame that shows it, in milliseconds."""
    job = server.add(at_s=2.0)
    page = open_page(job.id)
    page.evaluate(
        """() => {
          const done = document.querySelector(".tiles .panel-side");
          new MutationObserver(() => {
            if (done.textContent.startsWith("32 of 32")) requestAnimationFrame(() => { window.drawn_ms ??= Date.now(); });
          }).observe(done, { childList: true, characterData: true, subtree: true });
        }"""
    )
    begin_ms = page.evaluate("Date.now()")
    server.finish(job)
    expect(page.locator(".tiles .panel-side")).to_have_text("32 of 32 tiles done")
    assert counts(page)["waiting"] == 0 and counts(page)["running"] == 0
    return page.evaluate("window.drawn_ms") - begin_ms


def test_the_last_cell_is_drawn_within_300_ms(server, open_page):
    # Beside other work the browser has to wait for a core, so one of five jobs has to be in time.
    assert any(drawn_after_ms(server, open_page) < 300 for _ in range(5))


def test_a_job_that_is_done_looks_like_one_that_runs_with_its_answer_and_figures(
    server, open_page
):
    bad = {
        "records": 12,
        "first": [
            {"place": "access.log, line 17, byte 812", "cause": "no time of day"}
        ],
    }
    job = server.add(at_s=1.0, bad=bad, log="a line\nanother\n")
    live = open_page(job.id)
    server.finish(job)
    later = open_page(job.id)
    said = server.snapshot(job)
    for page in (live, later):
        expect(page.locator(".state")).to_have_text("done")
        for name in (
            "keys",
            "tiles",
            "files",
            "spilled_bytes",
            "memory_resident_peak",
            "simd",
        ):
            expect(page.locator(f"[data-stat={name}]")).to_have_attribute(
                "title", str(said["stats"][name])
            )
        for stage in page.locator(".stage").all():
            expect(stage).to_have_attribute("data-state", "done")
            expect(stage.locator(".stage-time")).not_to_be_empty()
        keys = page.locator(".top tbody .key-text").all_inner_texts()
        values = page.locator(".top tbody td.number").all_inner_texts()
        answer = [line.split("\t") for line in job.answer().splitlines()]
        assert keys == [key for key, _ in answer]
        assert [value.replace(",", "") for value in values] == [
            value for _, value in answer
        ]
        expect(page.locator(".answer-text")).to_have_text(job.answer())
        expect(page.locator(".bad")).to_contain_text("12 records skipped, the first 1")
        expect(page.locator(".bad li")).to_contain_text("access.log, line 17, byte 812")
        expect(page.locator(".log-text")).to_have_text("a line\nanother\n")
        expect(page.locator(".tiles .panel-side")).to_have_text("32 of 32 tiles done")
        expect(page.locator(".cores canvas")).to_be_visible()
        expect(page.get_by_role("button", name="Run again")).to_be_visible()
        expect(
            page.locator(".job-actions").get_by_role("button", name="Cancel")
        ).to_be_hidden()
        expect(page).to_have_title(re.compile("^done · "))


@pytest.mark.parametrize(("tiles", "cells"), [(1, 1), (100_000, 4000)])
def test_a_job_of_one_tile_and_one_of_many(server, open_page, tiles, cells):
    job = server.add(
        tiles=tiles,
        tile_bytes=4 << 20,
        bytes_per_s=200e9,
        at_s=1.2 if tiles > 1 else 0.02,
        workers=1,
    )
    page = open_page(job.id)
    said = job.tile_grid()
    assert said["counts"]["running"] + said["counts"]["waiting"] > 0
    assert counts(page) == said["counts"]
    box = page.locator(".tiles-canvas").bounding_box()
    assert box is not None and box["height"] <= 300
    seen = pixels(page)
    for name, letter in {"waiting": "w", "mapped": "m"}.items():
        assert (seen[letter] > 0) == (said["counts"][name] > 0)
    if tiles > 1:
        assert (
            f"{said['tiles_per_cell']} a cell"
            in page.locator(".tiles .panel-side").inner_text()
        )
        assert len(re.findall(r"[a-z]", said["cells"])) < cells


def test_a_tile_says_its_file_and_range(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    canvas = page.locator(".tiles-canvas")
    canvas.hover(position={"x": 5, "y": 5})
    readout = page.locator(".tiles .readout")
    expect(readout).to_contain_text("tile 0")
    expect(readout).to_contain_text("books/a.txt")
    expect(readout).to_contain_text("0 B to 32 MiB")
    page.locator(".site").hover()
    expect(readout).to_contain_text("Point at a tile")
    page.keyboard.press("s")
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("tile 16")
    expect(readout).to_contain_text("books/b.txt")
    page.keyboard.press("End")
    expect(readout).to_contain_text("tile 31")
    expect(readout).to_contain_text("waiting")
    asked = [request for request in server.requests if request.path.endswith("/places")]
    assert len(asked) == 1


def test_a_tile_of_several_files_says_how_many(server, open_page):
    names = [f"books/{letter}.txt" for letter in "abcdefgh"]
    job = server.add(tiles=4, paths=names, at_s=1.0)
    page = open_page(job.id)
    page.keyboard.press("s")
    page.keyboard.press("ArrowRight")
    readout = page.locator(".tiles .readout")
    expect(readout).to_contain_text("books/c.txt")
    expect(readout).to_contain_text("from 0 B of this file, and 1 more file")


def test_the_last_tile_of_small_files_says_how_many(server, open_page):
    names = [f"books/{letter}.txt" for letter in "abcdefgh"]
    job = server.add(tiles=1, paths=names)
    job.finish()
    page = open_page(job.id)
    page.keyboard.press("s")
    readout = page.locator(".tiles .readout")
    expect(readout).to_contain_text("from 0 B of this file, and 7 more files")


def test_a_tile_whose_file_the_server_does_not_know(server, open_page):
    job = server.add(at_s=1.0, has_places=False)
    page = open_page(job.id)
    page.keyboard.press("s")
    page.keyboard.press("ArrowRight")
    readout = page.locator(".tiles .readout")
    expect(readout).to_contain_text("tile 1")
    expect(readout).to_contain_text("about 32 MiB to 64 MiB of the input")
    assert not [request for request in server.requests if "places" in request.path]


def test_estimates_and_what_has_not_changed(server, open_page):
    job = server.add(at_s=2.0)
    page = open_page(job.id)
    show = job.show()
    first = page.locator(".top tbody tr").first
    expect(first).to_contain_text(f"{show['pairs'][0]['value']:,}")
    expect(first.locator(".estimate")).to_contain_text("30.0M")
    expect(first.locator(".estimate small")).to_have_text("± <0.1 %")
    expect(page.locator(".top-since")).to_have_text(
        "the first 5 are the same keys since 3.1 %"
    )


def test_cancel_asks_and_the_job_ends(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    page.keyboard.press("x")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".state")).to_have_text("cancelling")
    expect(page.get_by_role("button", name="Cancelling…")).to_be_disabled()
    server.finish(job, "cancelled")
    expect(page.locator(".state")).to_have_text("cancelled")
    expect(page.locator(".stage[data-stage=map]")).to_have_attribute(
        "data-state", "stopped"
    )
    assert [request.method for request in server.requests].count("DELETE") == 1


@pytest.mark.parametrize("from_list", [False, True], ids=["job", "list"])
def test_an_answer_that_comes_late_changes_nothing(server, open_page, from_list):
    job = server.add(at_s=1.0)
    page = open_page(None if from_list else job.id)
    state = page.locator(".over .row-mark" if from_list else ".job .state")

    def answer_late(route):
        response = route.fetch()
        assert '"running"' in response.text()
        server.finish(job, "cancelled")
        expect(state).to_have_text("cancelled")
        route.fulfill(response=response)

    page.route(f"**/api/jobs/{job.id}", answer_late)
    page.get_by_role("button", name=re.compile("^cancel", re.I)).click()
    with page.expect_response(lambda response: response.status == 202):
        page.get_by_role("button", name="Cancel the job").click()
    page.evaluate("() => new Promise(drawn => setTimeout(drawn, 100))")
    expect(state).to_have_text("cancelled")
    expect(page.get_by_text("cancelling", exact=False)).to_have_count(0)


def test_a_job_that_is_over_meanwhile_says_so(server, open_page, watched):
    watched.expected = ("409",)
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    job.finish()
    page.keyboard.press("x")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".notice.is-error")).to_have_text("job 1 is over: done")


def test_run_again_opens_the_new_job(server, open_page):
    job = server.add()
    job.finish()
    page = open_page(job.id)
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".state")).to_have_text("queued")
    expect(page.locator(".job-facts")).to_have_text(
        "job 2 · of me · place 1 in the queue"
    )
    page.get_by_role("button", name="higher priority").click()
    expect(page.locator(".about")).to_contain_text(re.compile(r"priority\s*1"))


def test_a_failed_job_says_why_and_where_it_stopped(server, open_page):
    job = server.add(at_s=1.0, log="last words\n")
    job.finish("failed")
    job.message, job.signal = "killed by signal 9 at tile 7", 9
    page = open_page(job.id)
    expect(page.get_by_role("alert")).to_have_text("killed by signal 9 at tile 7")
    expect(page.locator(".log-text")).to_have_text("last words\n")
    expect(page.locator(".about")).to_contain_text(re.compile(r"signal\s*9"))
    expect(page.locator(".stage[data-stage=map]")).to_have_attribute(
        "data-state", "stopped"
    )


def test_a_job_without_tiles_shows_and_figures(server, open_page):
    job = server.add(command=["sort", "x"], has_tiles=False, has_shows=False, at_s=0.5)
    page = open_page(job.id)
    expect(page.locator(".tiles .empty")).to_be_visible()
    waiting = server.add(state="queued")
    page = open_page(waiting.id)
    expect(page.locator(".state")).to_have_text("queued")
    expect(page.locator(".cores .empty")).to_have_text("No work yet.")
    expect(page.locator("[data-figure=progress]")).to_contain_text("\u2013")


def test_the_log_grows(server, open_page):
    job = server.add(at_s=1.0, log="one\n")
    page = open_page(job.id)
    expect(page.locator(".log-text")).to_have_text("one\n")
    job.log += "two\n"
    expect(page.locator(".log-text")).to_have_text("one\ntwo\n")
    asked = [request.path for request in server.requests if "/log?" in request.path]
    assert asked[:2] == ["/api/jobs/1/log?tail=16384", "/api/jobs/1/log?from=4"]


def test_the_end_of_a_long_log_is_shown_when_it_comes_into_view(server, open_page):
    job = server.add(at_s=1.0, log="one\n")
    page = open_page(job.id)
    expect(page.locator(".log-text")).to_have_text("one\n")
    page.locator(".log").evaluate("panel => panel.style.display = 'none'")
    job.log += "a long line of many that follow\n" * 100_000 + "last line"
    server.finish(job)
    expect(page.locator(".state")).to_have_text("done")
    page.locator(".log").evaluate("panel => panel.style.display = ''")
    expect(page.locator(".log-text")).to_contain_text("last line")


def test_a_run_without_a_limit_on_memory_has_no_bar_of_it(server, open_page):
    job = server.add(at_s=1.0, memory_bytes=0)
    page = open_page(job.id)
    memory = page.locator("[data-figure=memory]")
    expect(memory).to_contain_text("no limit")
    expect(memory.locator(".bar")).to_be_hidden()
    expect(page.locator(".about")).to_contain_text("no limit")
    assert "Infinity" not in page.content() and "NaN" not in page.content()
    listed = open_page()
    expect(listed.locator(".machine-jobs")).not_to_contain_text("of 0 B")
    assert "Infinity" not in listed.content() and "NaN" not in listed.content()
