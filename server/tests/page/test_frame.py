"""What holds for all of the page: keyboard, theme, names for screen readers, narrow screens, and its policy."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect


def test_all_can_be_done_by_keyboard(server, open_page):
    first = server.add(name="first", at_s=1.0)
    server.add(
        name="second",
        at_s=1.0,
        created_at_s=first.created_at_s + 1,
        workers=2,
        first_core=4,
    )
    page = open_page()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(":focus")).to_have_text("first")
    outline = page.locator(":focus").evaluate(
        "element => getComputedStyle(element).outlineStyle"
    )
    assert outline == "solid", "the focus is visible"
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("first")
    page.wait_for_selector(".job:not([aria-busy])")
    page.keyboard.press("m")
    expect(page.get_by_role("button", name="last minute")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("l")
    expect(page.locator(".log")).to_be_in_viewport()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("cancel the job")
    page.keyboard.press("x")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".list h1")).to_have_text("Jobs")
    page.keyboard.press("/")
    page.keyboard.type("second")
    expect(page.locator(".running .row")).to_have_count(1)
    expect(page.locator(".running .row")).to_contain_text("second")


def test_every_shortcut_is_documented(server, open_page):
    server.add(at_s=1.0)
    page = open_page()
    page.keyboard.press("?")
    names = page.locator(".shortcuts kbd").all_inner_texts()
    text = (Path(__file__).parents[3] / "docs/page.md").read_text()
    section = text.split("## Keyboard")[1].split("##")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    documented = [key for row in rows for key in re.findall(r"`(.+?)`", row)]
    assert sorted(names) == sorted(documented)


def test_the_theme_is_the_systems_until_one_is_chosen(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id, color_scheme="dark")

    def ground() -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert ground() < 100
    page.keyboard.press("t")
    assert ground() > 600
    page.reload()
    expect(page.locator("#theme")).to_have_text("Theme: light")
    assert ground() > 600
    page.locator("#theme").click()
    assert ground() < 100
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    assert ground() > 600


WIDTHS = (360, 390, 700, 900, 1180, 1440, 2560)
# Charts take their new width in the frame after the change.
IS_TOO_WIDE = """async () => {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  return document.documentElement.scrollWidth > document.documentElement.clientWidth;
}"""


def test_nothing_is_wider_than_the_screen(server, open_page):
    job = server.add(at_s=4.0, tiles=1800, workers=8, bytes_per_s=4e9)
    server.add(name="x" * 300, state="queued", user="y" * 100)
    page = open_page(viewport={"width": WIDTHS[0], "height": 900})

    def too_wide() -> list[int]:
        found = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate(IS_TOO_WIDE):
                found.append(width)
        return found

    assert too_wide() == []
    page.evaluate(f"location.hash = '#job={job.id}'")
    page.wait_for_selector(".job:not([aria-busy])")
    expect(page.locator(".u-wrap")).to_have_count(3)
    assert too_wide() == []


def test_many_cores_are_rows_too(server, open_page):
    server.stop()
    server.cores, server.group = 256, 8
    server.start()
    job = server.add(workers=200, at_s=3.0, tiles=4096, bytes_per_s=40e9)
    page = open_page()
    expect(page.locator(".core")).to_have_count(256)
    expect(page.locator(".group")).to_have_count(32)
    page.evaluate(f"location.hash = '#job={job.id}'")
    page.wait_for_selector(".job:not([aria-busy])")
    expect(page.locator(".cores table tbody tr")).to_have_count(225)
    box = page.locator(".cores canvas").bounding_box()
    assert box is not None and 600 < box["height"] < 1000


def test_what_is_drawn_is_also_said(server, open_page):
    job = server.add(at_s=2.5)
    page = open_page(job.id)
    expect(page.locator(".tiles-canvas")).to_have_attribute(
        "aria-label", re.compile(r"32 tiles: \d+ done, \d+ running, \d+ waiting")
    )
    expect(page.get_by_role("table", name="Work of each thread")).to_be_attached()
    expect(page.get_by_role("progressbar", name="memory")).to_have_attribute(
        "aria-valuetext", re.compile(r"of 1 GiB")
    )
    for figure in page.locator(".plot figcaption").all():
        expect(figure).to_contain_text(re.compile(r"\d"))
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input")].filter(
          element => element.offsetParent && !(element.textContent.trim() || element.getAttribute("aria-label"))).length"""
    )
    assert nameless == 0


def test_the_policy_forbids_scripts_in_the_document(server, open_page, watched):
    watched.expected = ("Content Security Policy", "404")
    page = open_page()
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.attacked = true";
          document.body.append(script);
          const image = document.createElement("div");
          image.innerHTML = "<img src=x onerror='window.attacked = true'>";
          document.body.append(image);
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.attacked") is None


def test_the_command_is_copied(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy command").click()
    expect(page.locator(".notice")).to_have_text("Command copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "cd /data && tegula wordcount --words alpha --top 10 books"


def test_a_job_in_python_has_no_command_to_copy(server, open_page):
    job = server.add(at_s=1.0, command=["python", "books"])
    page = open_page(job.id)
    expect(page.locator(".command")).to_have_text("python books")
    page.get_by_role("button", name="Copy command").click()
    expect(page.locator(".notice")).to_contain_text("has no command")


def test_the_skip_link_stays_at_the_job(server, open_page):
    job = server.add(at_s=1.0)
    page = open_page(job.id)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.locator(".job")).to_be_visible()
    assert page.url.endswith(f"#job={job.id}")
