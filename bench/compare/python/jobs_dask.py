"""The two jobs in Dask's bag, on its processes."""


def word_count(path):
    import dask.bag as db

    lines = db.read_text(path, blocksize="16MiB")
    counts = lines.str.split().flatten().frequencies()
    return counts.topk(10, key=1).compute()


def mean_by_host(path):
    import dask.bag as db

    def host_and_bytes(line):
        fields = line.split(" ")
        return fields[0], int(fields[3])

    def add(total, pair):
        return total[0] + pair[1], total[1] + 1

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]

    pairs = db.read_text(path, blocksize="16MiB").map(host_and_bytes)
    sums = pairs.foldby(lambda pair: pair[0], add, (0, 0), join, (0, 0))
    return {host: total / count for host, (total, count) in sums.compute()}
