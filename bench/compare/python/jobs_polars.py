"""The two jobs in Polars, on its streaming engine."""


def word_count(path):
    import polars as pl

    lines = pl.scan_lines(path, name="word")
    words = lines.select(pl.col("word").str.split(" ").explode())
    counts = words.group_by("word").len().filter(pl.col("word") != "")
    return counts.top_k(10, by="len").collect(engine="streaming").rows()


def mean_by_host(path):
    import polars as pl

    names = ["host", "page", "status", "bytes"]
    log = pl.scan_csv(path, separator=" ", has_header=False, new_columns=names)
    means = log.group_by("host").agg(pl.col("bytes").mean())
    return dict(means.collect(engine="streaming").rows())
