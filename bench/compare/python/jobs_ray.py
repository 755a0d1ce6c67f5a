"""The two jobs in Ray Data."""


def word_count(path):
    import collections

    import ray

    def count(batch):
        counts = collections.Counter()
        for line in batch["text"]:
            counts.update(line.split())
        return {"word": list(counts), "n": list(counts.values())}

    counts = ray.data.read_text(path).map_batches(count).groupby("word").sum("n")
    top = counts.sort("sum(n)", descending=True).take(10)
    return [(row["word"], row["sum(n)"]) for row in top]


def mean_by_host(path):
    import ray
    from pyarrow import csv

    names = csv.ReadOptions(column_names=["host", "page", "status", "bytes"])
    spaces = csv.ParseOptions(delimiter=" ")
    log = ray.data.read_csv(path, read_options=names, parse_options=spaces)
    means = log.groupby("host").mean("bytes")
    return {row["host"]: row["mean(bytes)"] for row in means.iter_rows()}
