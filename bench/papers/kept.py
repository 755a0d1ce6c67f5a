"""The raw results that figures are made of: where each is kept, which command makes it, how old it is.

Takes the folder of the repository; hands on runs and their medians. It reads files and asks git; it measures nothing.
"""

import json
import subprocess
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import median

from measure import Failed, short

ROOT = Path(__file__).parent.parent.parent
# A result that is older is measured again.
COMMITS_MOST = 100
# A page is true whatever is committed after it, so it marks results by their distance from the newest one.
BEFORE_NEWEST_MOST = timedelta(days=1)


@dataclass(frozen=True)
class Result:
    """A file of raw results, and how it is made: by a target of make, or a measurement of `taken.py`."""

    path: str
    target: str = ""
    inputs: tuple[str, ...] = ()
    """Texts of the corpus that must be there and are not drawn by make itself."""
    variables: tuple[str, ...] = ()
    """Further variables of make."""
    measurement: str = ""
    is_exact: bool = False
    """Simulated with recorded costs: the same at any commit, so it does not grow old."""


HADOOP_BENCHES = ("HADOOP_BENCHES=word_count sequences",)
RESULTS = {
    "jobs": Result("bench/results/papers_jobs.json", measurement="jobs"),
    "footprint": Result("bench/results/papers_footprint.json", measurement="footprint"),
    "tiles": Result("bench/results/papers_tiles.json", measurement="tiles"),
    "saves": Result("bench/results/papers_saves.json", measurement="saves"),
    "caches": Result("bench/results/papers_caches.json", measurement="caches"),
    "stable": Result("bench/results/papers_stable.json", measurement="stable"),
    "appended": Result("bench/results/papers_appended.json", measurement="appended"),
    "edited": Result("bench/results/papers_edited.json", measurement="edited"),
    "utilisation": Result(
        "bench/results/papers_utilisation.json", measurement="utilisation"
    ),
    "pipeline": Result(
        "bench/results/pipeline.json",
        "bench-pipeline",
        variables=("PIPELINE_TEXT=zipf.txt",),
    ),
    "show": Result(
        "bench/results/show.json",
        "bench-show",
        variables=(
            "SHOW_TEXT=steep.txt",
            "SHOW_BYTES=2e9",
        ),
    ),
    "word_count": Result(
        "bench/results/word_count_compare.json",
        "bench-compare",
        ("letters.txt", "source256.txt"),
    ),
    "containers": Result(
        "bench/results/containers.json",
        "bench-containers",
        variables=("CONTAINER_JOBS=index",),
    ),
    "library": Result(
        "bench/results/library.json",
        "bench-containers",
        variables=(
            "CONTAINER_JOBS=map",
            "CONTAINER_OUT=bench/results/library.json",
        ),
    ),
    "index": Result(
        "bench/results/index_compare.json",
        "bench-index",
        ("source100.txt", "letters100.txt"),
    ),
    "numbers": Result("bench/results/number_jobs.json", "bench-numbers"),
    "ingest": Result(
        "bench/results/ingest.json",
        "bench-ingest",
        variables=(
            "INGEST_TEXT=zipf.txt",
            "INGEST_COLD=zipf.txt",
        ),
    ),
    "remote": Result("bench/results/remote.json", "bench-remote", ("source256.txt",)),
    "nodes": Result("bench/results/nodes.json", "bench-nodes", ("letters.txt",)),
    "nodes by size": Result("bench/results/nodes_sizes.json", "bench-nodes-sizes"),
    "units": Result("bench/results/device_units.json", "bench-units"),
    "sequences": Result(
        "hadoop/bench/results/sequences.json",
        "bench-hadoop",
        variables=HADOOP_BENCHES,
    ),
    "hadoop word count": Result(
        "hadoop/bench/results/word_count.json",
        "bench-hadoop",
        variables=HADOOP_BENCHES,
    ),
    "systemml": Result("hadoop/bench/results/systemml.json", "bench-systemml"),
    "groups simulated": Result("docs/groups.md", "bench-groups", is_exact=True),
    "server simulated": Result("docs/serve.md", is_exact=True),
    "nodes simulated": Result("docs/nodes.md", is_exact=True),
}


@dataclass
class Kept:
    """Reads results, and remembers which were read."""

    root: Path = ROOT
    read: dict[str, dict] = field(default_factory=dict)

    def raw(self, name: str) -> dict:
        """Returns the whole file of a result."""
        if name not in self.read:
            path = self.root / RESULTS[name].path
            try:
                self.read[name] = json.loads(path.read_text())
            except (OSError, ValueError) as error:
                raise Failed(
                    f"`{RESULTS[name].path}` is missing; `make papers` makes it"
                ) from error
        return self.read[name]

    def runs(self, name: str) -> list[dict]:
        return self.raw(name)["runs"]

    def run(self, name: str, **of: object) -> dict:
        """Returns the run whose fields are `of`; there must be one."""
        found = self.find(name, **of)
        if found is None:
            raise Failed(f"{RESULTS[name].path}: no run with {of}; make it again")
        return found

    def find(self, name: str, **of: object) -> dict | None:
        return next(
            (
                run
                for run in self.runs(name)
                if all(run.get(key) == value for key, value in of.items())
            ),
            None,
        )

    def tables(self, name: str) -> dict[str, list[list[str]]]:
        """Returns the tables of a page's simulated part, by the bold line before each ("" without one)."""
        text = (self.root / RESULTS[name].path).read_text()
        _, _, rest = text.partition("<!-- simulat")
        part, found, _ = rest.partition("<!-- end")
        if not found:
            raise Failed(
                f"{RESULTS[name].path}: no part between the marks of a simulation"
            )
        tables: dict[str, list[list[str]]] = {}
        title = ""
        for line in part.splitlines():
            if line.startswith("**"):
                title = line.strip("* ")
            elif line.startswith("|") and not line.startswith("|---"):
                tables.setdefault(title, []).append(
                    [cell.strip() for cell in line.strip("|").split("|")]
                )
        return tables


def cpu_s(run: dict) -> float:
    return median(
        sample["cpu_user_s"] + sample["cpu_system_s"] for sample in run["samples"]
    )


def wall_s(run: dict) -> float:
    return median(sample["wall_s"] for sample in run["samples"])


def peak_mb(run: dict) -> float:
    return max(sample["resident_peak_bytes"] for sample in run["samples"]) / 1e6


def age(commit: str) -> int | None:
    """Returns the number of commits since this one, or None where it is not in the history."""
    argv = [
        "git",
        "-C",
        str(ROOT),
        "rev-list",
        "--count",
        f"{commit.removesuffix('-dirty')}..HEAD",
    ]
    done = subprocess.run(argv, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else None


def commit_of(name: str) -> str:
    """Returns the commit that a result was measured at; "" where it is missing or has none."""
    path = ROOT / RESULTS[name].path
    try:
        return json.loads(path.read_text())["commit"]
    except (OSError, ValueError, KeyError):
        return ""


def is_old(name: str) -> bool:
    """Whether a result is missing, or was measured more than a hundred commits ago."""
    result = RESULTS[name]
    if result.is_exact:
        return False
    commit = commit_of(name)
    commits = age(commit) if commit else None
    return commits is None or commits > COMMITS_MOST


def date_of(name: str) -> datetime | None:
    """Returns when a result was measured; None where it is missing or the same at any commit."""
    path = ROOT / RESULTS[name].path
    if RESULTS[name].is_exact or not path.exists():
        return None
    return datetime.fromisoformat(json.loads(path.read_text())["date"])


@cache
def newest() -> datetime:
    """Returns when the newest of all results was measured."""
    return max(date for name in RESULTS if (date := date_of(name)) is not None)


def told(name: str) -> str:
    """Returns one line on a result: its file, when and where it was measured."""
    result = RESULTS[name]
    link = f"[`{result.path}`](../{result.path})"
    if result.is_exact:
        return (
            f"{link}, from `bench/results/split_costs.txt`" if result.target else link
        )
    raw = json.loads((ROOT / result.path).read_text())
    machine = raw["machine"]
    is_late = newest() - date_of(name) <= BEFORE_NEWEST_MOST
    old = "" if is_late else "; **more than a day before the newest result**"
    # What is measured may be more processes than there are cores.
    load = raw.get("load_before", machine["load_average"])[0]
    # Other programs then had a part of the processors.
    busy = (
        "; **on a busy machine, so only ratios of processor time say something**"
        if load > machine["cores"] + 0.5
        else ""
    )
    return f"{link}: {raw['date'][:10]}, commit {short(raw['commit'])}, {machine['cpu']}, {machine['cores']} cores, load {load:.1f}{busy}{old}"
