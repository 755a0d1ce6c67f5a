"""A map that Numba compiles, which runs on the engine's workers: bytes sent to each host."""

from typing import Any

import numba
import tegula as tg
from tegula import numba as tn


@numba.cfunc(tn.signature)
def bytes_by_host(split: Any, pairs: Any, state: Any) -> int:
    """Emit the first field of each line, and the tenth as a number."""
    data = tn.data(split)
    at = tn.done(split)
    while at < data.size:
        end = tn.line_end(data, at)
        host, host_end = tn.field(data, at, end, 1, 32)
        begin, stop = tn.field(data, at, end, 10, 32)
        if begin < 0:
            return tn.bad(split, at)
        value = 0
        for place in range(begin, stop):
            if data[place] < 48 or data[place] > 57:
                break
            value = value * 10 + data[place] - 48
        if not tn.emit(pairs, data, host, host_end, value):
            return tn.full(split, at)
        at = end + 1
    return tn.finished(split)


for host, total in tg.text("server.log").map_native(bytes_by_host).sum().run().top(5):
    print(host, total)
