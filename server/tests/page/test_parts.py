"""Parts of the page on their own: figures as text, run lengths, cells of lanes, and rates, by their modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

Call = Callable[..., Any]


@pytest.fixture
def call(open_page: Callable[..., Page]) -> Call:
    """Calls a function of a module of the page with arguments that have a form in JSON."""
    page = open_page()

    def call(module: str, function: str, *arguments: Any) -> Any:
        return page.evaluate(
            "async ([module, name, arguments_]) => (await import(`/${module}.js`))[name](...arguments_)",
            [module, function, arguments],
        )

    return call


def test_figures_as_text(call: Call) -> None:
    table = {
        "bytes": {
            0: "0 B",
            999: "999 B",
            1000: "0.98 KiB",
            1536: "1.50 KiB",
            80 << 10: "80 KiB",
            1 << 30: "1 GiB",
            123456789012: "115 GiB",
            None: "\u2013",
        },
        "duration": {
            0: "0 ms",
            0.0204: "20 ms",
            0.9999: "1.0 s",
            9.97: "10 s",
            59.4: "59 s",
            59.7: "1:00",
            3661: "1:01:01",
            277_000: "3 d 4 h",
            None: "\u2013",
        },
        "percent": {
            0: "0 %",
            0.031: "3.1 %",
            0.5: "50 %",
            0.99999: "99.9 %",
            1: "100 %",
            None: "\u2013",
        },
        "count": {1234567: "1,234,567", 0: "0", None: "\u2013"},
        "number": {
            1234567: "1,234,567",
            0.00012: "0.00012",
            0.0009: "0.0009",
            -1.5: "-1.5",
            1234567.8912: "1,234,567.891",
            2 / 3: "0.666667",
            1.23e-9: "1.23e-9",
            1e22: "1e+22",
        },
        "compact": {
            9999: "9,999",
            30_000_000: "30.0M",
            12_345: "12.3K",
            0.00012: "0.00012",
        },
    }
    for function, rows in table.items():
        for value, text in rows.items():
            assert call("text", function, value) == text, (function, value)


def test_a_command_is_quoted_for_a_shell(call: Call) -> None:
    words = ["wordcount", "it's", "a b", "$HOME", "~x", "x~", "", "--top=3", "\n"]
    line = call("text", "shell", words, "/data/my books")
    assert line == (
        "cd '/data/my books' && tegula wordcount 'it'\\''s' 'a b' '$HOME' '~x' x~ '' --top=3 '\n'"
    )


def test_a_job_in_python_is_no_command_of_tegula(call: Call) -> None:
    assert call("text", "line", ["python", "my books"]) == "python 'my books'"


def test_run_lengths_and_the_size_of_cells(call: Call) -> None:
    assert (
        call("text", "expand", "s3m5r2w22", 4096) == "sss" + "m" * 5 + "rr" + "w" * 22
    )
    assert call("text", "expand", "", 9) == ""
    assert len(call("text", "expand", "w999999999", 4096)) == 4096
    for cells in (1, 32, 1000, 4096):
        for width in (280, 360, 840, 1400):
            side = call("grid", "pitch", cells, width)
            rows = -(-cells // (width // side))
            assert 5 <= side <= 22
            assert side == 5 or rows * side <= 280


def test_cells_of_lanes_double_and_lose_no_time(open_page: Callable[..., Page]) -> None:
    page = open_page()
    lanes = page.evaluate(
        """async () => {
          const { Work } = await import("/work.js");
          const work = new Work();
          work.reset({ from_s: 0, step_s: 0.25, lanes: [{ name: "worker-0", cells: "m2r1" }, { name: "reader-0", cells: "" }] }, 0.75, false);
          for (let at = 3; at < 2000; at += 1) {
            const ms = at % 4 < 3 ? { map: 200, read: 30 } : { read: 240 };
            work.add({ from_s: at / 4, at_s: (at + 1) / 4, lanes: [{ name: "worker-0", ms }] });
          }
          return { names: work.sorted().map(lane => lane.name), step: work.step_s, end: work.end_s,
            cells: work.sorted()[0].cells, spans: work.sorted()[0].spans.length };
        }"""
    )
    assert lanes["names"] == ["worker-0", "reader-0"]
    assert lanes["end"] == 500
    assert abs(len(lanes["cells"]) * lanes["step"] - 500) <= lanes["step"]
    assert len(lanes["cells"]) <= 480 and "i" not in lanes["cells"]
    assert 240 <= lanes["spans"] <= 242


def test_work_is_counted_at_its_end_and_fills_the_time_before(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    found = page.evaluate(
        """async () => {
          const { Work } = await import("/work.js");
          const work = new Work();
          work.add({ from_s: 0, at_s: 0.5, lanes: [{ name: "worker-0", ms: { read: 400 } }, { name: "caller", ms: { plan: 450 } }] });
          work.add({ from_s: 0.5, at_s: 1.25, lanes: [] });
          work.add({ from_s: 1.25, at_s: 1.5, lanes: [{ name: "worker-0", ms: { spill: 960 } }] });
          work.add({ from_s: 1.5, at_s: 2, lanes: [] });
          const [worker] = work.sorted();
          const before = { cells: worker.cells, spans: worker.spans.map(({ from_s, to_s }) => [from_s, to_s]) };
          work.reset({ from_s: 0, step_s: 0.5, lanes: [{ name: "worker-0", cells: "r1s2i1" }] }, 2, true);
          const same = work.sorted()[0].spans.length;
          work.reset({ from_s: 0, step_s: 0.5, lanes: [{ name: "worker-0", cells: "r1" }] }, 0.5, false);
          return { ...before, same, other: work.sorted()[0].spans.length };
        }"""
    )
    assert found["cells"] == "rrssssii"
    assert found["spans"] == [[0, 0.5], [pytest.approx(0.54), 1.5]]
    assert (found["same"], found["other"]) == (2, 0)


def test_rates_come_from_totals(open_page: Callable[..., Page]) -> None:
    page = open_page()
    found = page.evaluate(
        """async () => {
          const { Series } = await import("/plots.js");
          const series = new Series();
          series.reset({ from_s: 0, step_s: 0.5, bytes_done: [1000, 1100, 1300], memory_bytes: [1, 2, 3], cpu_s: [0, 1, 2] });
          series.add({ at_s: 1.6, bytes_done: 1310, memory_bytes: 4 });
          series.add({ at_s: 1.6, bytes_done: 9999, memory_bytes: 4 });
          series.add({ at_s: 2, bytes_done: 1400, memory_bytes: 4, cpu_s: 3 });
          const rates = series.rates(series.bytes_done);
          const left_out = series.rates(series.bytes_done, 150);
          for (let at = 0; at < 5000; at += 1) series.add({ at_s: 2 + at / 4, bytes_done: 1400 + at, memory_bytes: 4, cpu_s: at });
          return { rates, left_out, points: series.at_s.length, last: series.at_s.at(-1) };
        }"""
    )
    # The first total may contain what an earlier attempt did, and an interval of 0.1 s is too short to tell.
    assert found["rates"][0] is None
    assert found["rates"][1:3] == [200, 400]
    assert found["rates"][3] == pytest.approx(210 / 0.6)
    # The step of 200 is one that was found in a state.
    assert found["left_out"][1:4] == [200, None, None]
    assert found["rates"][4] == pytest.approx(225)
    assert 300 <= found["points"] <= 600 and found["last"] > 1240
