#!/usr/bin/env python3
"""At what part of the input the top 3, 5, 10 and 20 words are final (Ostrich, figure 26): a word count of
given files or folders with a show at every 1 %, in the order of the input and as it goes.

Takes tegula's binary and paths; prints a Markdown table.

    python3 bench/compare/stable.py --tegula target/release/tegula books
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import ours
from measure import Failed, run_script, table

TOPS = (3, 5, 10, 20)
FORMS = (
    ("in the order of the input", ("--show-in-order", "--tile", "256k")),
    ("as it goes", ()),
)


def last_show(options: argparse.Namespace, form: tuple[str, ...]) -> dict[str, object]:
    """The head of the last show of a run."""
    with tempfile.TemporaryDirectory() as folder:
        shows = Path(folder) / "shows"
        argv = [str(options.tegula), "wordcount", *map(str, options.paths), *form]
        argv += ["--words", options.words, "--format", "jsonl", "--progress", "off"]
        argv += [
            "--show",
            "every=1%",
            "--show-top",
            str(max(TOPS)),
            "--show-to",
            str(shows),
        ]
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise Failed(done.stderr.decode(errors="replace").strip())
        lines = map(json.loads, shows.read_text().splitlines())
        return [line for line in lines if "show" in line][-1]


def main() -> int:
    parser = argparse.ArgumentParser(description="Find when top words are final.")
    parser.add_argument("--tegula", type=Path, required=True, help="tegula's binary")
    parser.add_argument("--words", default="alpha", help="what a word is (alpha)")
    parser.add_argument("paths", nargs="+", type=Path, help="what is counted")
    options = parser.parse_args()
    ours.existing(options.tegula)
    rows = []
    for name, form in FORMS:
        last = last_show(options, form)
        since = [last["top_since"][str(top)]["part"] for top in TOPS]
        rows.append(
            [name, str(last["show"]), *(f"{100 * part:.1f} %" for part in since)]
        )
    print(table(["shows", "made", *(f"top {top}" for top in TOPS)], rows))
    return 0


if __name__ == "__main__":
    run_script(main)
