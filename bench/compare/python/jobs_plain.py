"""The two jobs in plain Python: one process, one core."""


def word_count(path):
    from collections import Counter

    counts = Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            counts.update(line.split())
    return counts.most_common(10)


def mean_by_host(path):
    from collections import defaultdict

    sums = defaultdict(lambda: [0, 0])
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(" ")
            own = sums[fields[0]]
            own[0] += int(fields[3])
            own[1] += 1
    return {host: total / count for host, (total, count) in sums.items()}
