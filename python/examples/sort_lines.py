"""Sorts lines by a number in them, in as much memory as is allowed, and writes them to a file."""

import tegula as tg

by_size = tg.field(2, "\t", numeric=True)
lines = tg.text("huge.txt").sort(key=by_size).write("sorted.txt", memory="4G")
print(len(lines), "lines")
