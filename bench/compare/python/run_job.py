"""Runs one job of one library, and prints its answer as JSON: the top ten words, or what the means add up to.

python3 bench/compare/python/run_job.py jobs_polars word_count FILE
"""

import importlib
import json
import math
import sys


def main(module: str, job: str, path: str) -> None:
    answer = getattr(importlib.import_module(module), job)(path)
    if job.startswith("word_count"):
        pairs = [
            (word.decode() if isinstance(word, bytes) else word, int(count))
            for word, count in answer
        ]
        print(json.dumps(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))))
    else:
        # Means need not be the same to the bit.
        print(json.dumps([len(answer), round(math.fsum(answer.values()), 3)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
