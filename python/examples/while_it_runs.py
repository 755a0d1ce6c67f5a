"""Answers while a job runs: leaving the loop stops it."""

import tegula as tg

words = tg.text("wikipedia/").words("unicode")
for seen in words.count().stream(every="5%", top=20):
    print(f"{seen.part:.0%}", seen.top(3), seen.stable_since(3))
    if seen.stable_since(10):
        break
