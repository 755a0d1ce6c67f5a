"""Notebooks: a bar below a cell while a job runs, functions of cells in processes, and the tour, which is run as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
traitlets = pytest.importorskip("traitlets.config")

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"

SLOW = """
import time
import tegula as tg
def slowly(line):
    if line < "d":
        time.sleep(0.0002)
    return line
answer = tg.text("words.txt").map(slowly).count().run(workers=2)
len(answer)
"""


def run(notebook: Any, folder: Path) -> Any:
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        # Sockets with names: two kernels that start at once may choose the same port.
        config=traitlets.Config(
            {"KernelManager": {"transport": "ipc", "ip": str(folder / "kernel")}}
        ),
    )
    # What is shown again takes the place of what was shown: each update is looked at.
    seen = []
    process = client.process_message

    def look(message: Any, cell: Any, cell_index: int) -> Any:
        seen.append(message)
        return process(message, cell, cell_index)

    client.process_message = look
    client.execute()
    return seen


def test_a_bar_is_shown_and_goes_away(path: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes(path.read_bytes())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SLOW)])
    seen = run(notebook, tmp_path)
    bars = [
        message["content"]["data"]["text/html"]
        for message in seen
        if message["msg_type"] in ("display_data", "update_display_data")
    ]
    assert len(bars) >= 3
    assert all(bar.startswith("<progress max=1 value=") for bar in bars[:-1])
    assert "keys" in bars[0]
    assert bars[-1] == ""
    assert notebook.cells[0].outputs[-1]["data"]["text/plain"].isdigit()


@pytest.mark.once
def test_a_job_that_ranks_shows_the_first_three_so_far(
    path: Path, tmp_path: Path
) -> None:
    """Keys are text of the input, which is no HTML."""
    (tmp_path / "words.txt").write_bytes(path.read_bytes())
    ranked = SLOW.replace("return line", "return '<b>' + line[:1]")
    ranked = ranked.replace("workers=2", 'workers=2, top=5, order="value"')
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ranked)])
    seen = run(notebook, tmp_path)
    bars = [
        message["content"]["data"]["text/html"]
        for message in seen
        if message["msg_type"] in ("display_data", "update_display_data")
    ]
    tops = [bar.partition("<br>")[2] for bar in bars if "<br>" in bar]
    assert tops
    one = r"&lt;b&gt;[a-j]?: \d+"
    assert all(re.fullmatch(f"{one}, {one}, {one}", top) for top in tops), tops
    assert bars[-1] == ""
    assert notebook.cells[0].outputs[-1]["data"]["text/plain"] == "5"


@pytest.mark.once
def test_the_tour_runs(tmp_path: Path) -> None:
    """Each cell of it shows what is saved with it."""
    notebook = nbformat.read(TOUR, as_version=4)
    saved = [shown(cell) for cell in notebook.cells]
    run(notebook, tmp_path)
    assert [shown(cell) for cell in notebook.cells] == saved
    assert any(saved)


def shown(cell: Any) -> list[str]:
    """What a cell shows as text, without the bars that have gone."""
    texts = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            texts.append(output["text"])
        elif output["output_type"] == "execute_result":
            texts.append(output["data"]["text/plain"])
    return texts
