"""The two jobs in Tegula, at each of its four speeds."""


def word_count(path):
    import tegula as tg

    return tg.text(path).words("whitespace").count().run(top=10)


def word_count_map(path):
    import tegula as tg

    return tg.text(path).map(str.split).count().run(top=10)


def word_count_split(path):
    from collections import Counter

    import tegula as tg

    def count(data):
        return Counter(data.split())

    return tg.text(path).map_split(count).sum().run(top=10)


def word_count_arrow(path):
    import pyarrow.compute as pc
    import tegula as tg

    def words(lines):
        counts = pc.list_flatten(pc.utf8_split_whitespace(lines)).value_counts()
        return {"key": counts.field("values"), "value": counts.field("counts")}

    return tg.text(path).map_arrow(words).sum().run(top=10)


def word_count_native(path):
    import numba
    import tegula as tg
    from tegula import numba as tn

    @numba.cfunc(tn.signature)
    def words(split, pairs, state):
        data = tn.data(split)
        at = tn.done(split)
        while at < data.size:
            end = at
            while end < data.size and data[end] > 32:
                end += 1
            if end > at and not tn.emit(pairs, data, at, end, 1):
                return tn.full(split, at)
            at = end + 1
        return tn.finished(split)

    return tg.text(path).map_native(words).count().run(top=10)


def mean_by_host(path):
    import tegula as tg

    return tg.text(path).field(1, " ", value=4).mean().run().to_dict()


def mean_by_host_map(path):
    import tegula as tg

    def host_and_bytes(line):
        fields = line.split(" ")
        return fields[0], int(fields[3])

    return tg.text(path).map(host_and_bytes).mean().run().to_dict()


def mean_by_host_arrow(path):
    import pyarrow as pa
    import pyarrow.compute as pc
    import tegula as tg

    def host_and_bytes(lines):
        fields = pc.split_pattern(lines, " ")
        sizes = pc.list_element(fields, 3).cast(pa.int64())
        return {"key": pc.list_element(fields, 0), "value": sizes}

    return tg.text(path).map_arrow(host_and_bytes).mean().run().to_dict()


def mean_by_host_native(path):
    import numba
    import tegula as tg
    from tegula import numba as tn

    @numba.cfunc(tn.signature)
    def host_and_bytes(split, pairs, state):
        data = tn.data(split)
        at = tn.done(split)
        while at < data.size:
            end = tn.line_end(data, at)
            begin, stop = tn.field(data, at, end, 4, 32)
            size = 0
            for place in range(begin, stop):
                size = size * 10 + data[place] - 48
            begin, stop = tn.field(data, at, end, 1, 32)
            if not tn.emit(pairs, data, begin, stop, size):
                return tn.full(split, at)
            at = end + 1
        return tn.finished(split)

    return tg.text(path).map_native(host_and_bytes).mean().run().to_dict()
