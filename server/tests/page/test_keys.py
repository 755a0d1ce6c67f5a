"""Keys, names, paths and messages are foreign bytes: they are shown as text, whatever they contain."""

from __future__ import annotations

from playwright.sync_api import expect

MARKUP = '<img src=x onerror="window.attacked = true">'
SCRIPT = "</script><script>window.attacked = true</script>"
# An override of the direction, and two words in Arabic.
RTL = "\u202e\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645"
LONG = "k" * 10_000
CONTROL = "a\tb\n\x1b[31mc\u0000d"


def test_hostile_keys_are_text(server, open_page):
    keys = [
        MARKUP,
        SCRIPT,
        RTL,
        LONG,
        CONTROL,
        "",
        "hex:ff00fe",
        "__proto__",
        "{{7*7}}",
    ]
    job = server.add(at_s=2.5, keys=keys)
    page = open_page(job.id)
    cells = page.locator(".top tbody .key-text")
    expect(cells).to_have_count(len(keys))
    texts = [cell.text_content() for cell in cells.all()]
    assert texts[:3] == [MARKUP, SCRIPT, RTL]
    assert texts[3] == "k" * 2000 + "…"
    assert texts[4] == CONTROL
    assert texts[5:] == ["(empty)", "ff00fe", "__proto__", "{{7*7}}"]
    assert page.evaluate("window.attacked") is None
    assert page.locator("main img, main script").count() == 0
    # A key that is written from right to left leaves the figures beside it in place, and a long one widens nothing.
    table = page.locator(".top-table").bounding_box()
    panel = page.locator(".panel.top").bounding_box()
    assert table["width"] <= panel["width"]
    for row in page.locator(".top tbody tr").all():
        key, value = (
            row.locator(".key").bounding_box(),
            row.locator("td.number").first.bounding_box(),
        )
        assert key["x"] + key["width"] <= value["x"] + 1


def test_names_messages_logs_and_places_are_text(server, open_page):
    job = server.add(
        name=MARKUP + RTL + LONG,
        command=["wordcount", MARKUP, "it's", "~x", ""],
        folder="/data/" + SCRIPT,
        user=MARKUP,
        at_s=1.0,
        paths=[MARKUP],
        log=MARKUP + "\x1b[31m\n",
        bad={"records": 1, "first": [{"place": SCRIPT, "cause": RTL}]},
    )
    server.users = [
        {"name": name, "weight": 1, "running": 0, "queued": 0, "core_s": 0}
        for name in (MARKUP, RTL)
    ]
    server.host = MARKUP
    listed = open_page()
    expect(listed.locator(".row-name")).to_contain_text(MARKUP)
    expect(listed.locator(".machine-users li").first).to_contain_text(MARKUP)
    expect(listed.locator("#host")).to_have_text(MARKUP)
    job.finish("failed")
    job.message = SCRIPT
    page = open_page(job.id)
    expect(page.locator("h1")).to_contain_text(MARKUP)
    expect(page.locator(".job-message")).to_have_text(SCRIPT)
    expect(page.locator(".bad-place")).to_have_text(SCRIPT)
    expect(page.locator(".log-text")).to_contain_text(MARKUP)
    expect(page.locator(".command")).to_contain_text(
        """wordcount '<img src=x onerror="window.attacked = true">' 'it'\\''s' '~x' ''"""
    )
    page.locator(".tiles-canvas").hover(position={"x": 5, "y": 5})
    expect(page.locator(".readout-path")).to_have_text(MARKUP)
    for each in (listed, page):
        assert each.evaluate("window.attacked") is None
        assert each.locator("main img, main script").count() == 0
        wide = each.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0


def test_figures_of_other_jobs_have_their_own_names(server, open_page):
    job = server.add(command=["logstats", "--key", "host", "access.log"], at_s=2.5)
    page = open_page(job.id)
    show = job.show() | {
        "pairs": [
            {
                "host": "66.249.73.135",
                "requests": 482,
                "requests_estimate": 964,
                "requests_within": None,
                "bytes": 75500527,
                "bytes_estimate": 151001054,
                "bytes_within": None,
            },
            {
                "host_hex": "ff",
                "requests": 3,
                "requests_estimate": 6,
                "requests_within": 2,
                "bytes": 5,
                "bytes_estimate": 10,
                "bytes_within": 1,
            },
        ]
    }
    server.send(job.id, "show", {"job": job.id} | show)
    expect(page.locator(".top thead th")).to_have_text(
        ["#", "host", "requests", "bytes", "in the end"]
    )
    expect(page.locator(".top tbody tr").first).to_contain_text("66.249.73.135")
    expect(page.locator(".top tbody tr").first).to_contain_text("± ?")
    expect(page.locator(".top tbody tr").nth(1).locator(".key-text")).to_have_attribute(
        "data-form", "hex"
    )


def test_figures_have_all_their_digits(server, open_page):
    job = server.add(command=["run", "libjob.so", "text"], at_s=2.5)
    page = open_page(job.id)
    pairs = [
        {"key": "a", "sum": 1_700_000_000_000_000_001, "mean": 0.00012},
        {"key": "b", "sum": -(2**70) - 1, "mean": 1234567.25},
        {"key": "1700000000000000001", "sum": 0, "mean": 1e22},
    ]
    show = job.show() | {"pairs": pairs, "is_last": True}
    server.send(job.id, "show", {"job": job.id} | show)
    expect(page.locator(".top td.number")).to_have_text(
        [
            "1,700,000,000,000,000,001",
            "0.00012",
            "-1,180,591,620,717,411,303,425",
            "1,234,567.25",
            "0",
            "1e+22",
        ]
    )
    expect(page.locator(".top .key-text").last).to_have_text("1700000000000000001")
