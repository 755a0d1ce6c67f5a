"""The memory bound of a run of tegula: a fixed part, and three times what the answer weighs.

Takes measured runs that left their figures; hands on a table and whether every run stayed within
its bound. It must never make up a bound for a run that left no figures.
"""

from measure import Failed, Measured, table

FIXED_BYTES = 48_000_000
TIMES_ANSWER = 3


def bound_bytes(measured: Measured) -> int:
    """The most resident memory this run may take."""
    weight = measured.stats.get("key_value_bytes")
    if not isinstance(weight, int):
        raise Failed(f"{measured.program.name}: its figures hold no key_value_bytes")
    return FIXED_BYTES + TIMES_ANSWER * weight


def within(measured: Measured) -> bool:
    return measured.resident_peak_bytes <= bound_bytes(measured)


def limits_table(runs: list[Measured]) -> str:
    """Peak memory against the bound, run by run, in MB of 10^6 bytes."""
    rows = [
        [
            one.program.name,
            str(one.program.workers),
            one.program.input.name,
            f"{one.resident_peak_bytes / 1e6:.0f}",
            f"{bound_bytes(one) / 1e6:.0f}",
            "yes" if within(one) else "NO",
        ]
        for one in runs
    ]
    return table(["run", "workers", "input", "peak MB", "bound MB", "within"], rows)
