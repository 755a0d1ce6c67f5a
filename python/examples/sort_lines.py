"""Sorts lines by a number in them, in as much memory as is allowed, and writes them to a file."""

import sys

import tegula as tg

source, target = sys.argv[1:3]
by_size = tg.field(10, " ", numeric=True)
lines = (
    tg.text(source)
    .sort(key=by_size, reverse=True)
    .write(target, memory="4G", skip_bad=True)
)
print(len(lines), "lines,", lines.stats["bad_records"], "without a size")
print(next(iter(lines)).rsplit(" ", 1)[1])
