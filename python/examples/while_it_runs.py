"""Answers while a job runs: leaving the loop stops it."""

import sys

import tegula as tg

for seen in tg.text(sys.argv[1]).words("unicode").count().stream(every="25%", top=20):
    last = seen
print(f"{last.part:.0%} of the input, {last.top(3)}")
