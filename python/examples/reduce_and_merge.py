"""A function over all values of a key, in the order of the input; and one that makes two values one."""

import csv
from collections.abc import Iterator
from statistics import median

import tegula as tg


def by_customer(row: str) -> tuple[str, float]:
    """Return the customer of an order, and its amount."""
    customer, _, amount = next(csv.reader([row]))
    return customer, float(amount)


def neighbours(edge: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each end of an edge with the other."""
    one, other = edge.split()
    yield one, {other}
    yield other, {one}


orders = tg.text("orders.csv", cut="csv").map(by_customer)
print(orders.reduce(lambda key, values: median(values)).run().to_dict())
for node, found in tg.text("edges.txt").map(neighbours).merge(set.union).run():
    print(node, sorted(found))
