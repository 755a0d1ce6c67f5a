"""The zygote: a process with one thread that loads a Python map once and forks companions, which share what it loaded.

It runs as a file, outside the package, so that neither it nor its companions load the native module. Requests come
over the socket that it finds as standard input: `src/companion.rs` is the other side.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import marshal
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import time
import types
import warnings
from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
CHUNK_BYTES = 1 << 30

# Bytes of a request that are read at a time, and its first numbers.
NOTE_BYTES = 1 << 12
NUMBERS = struct.Struct("<QQ")
# The system writes at most 1024 buffers at a time.
BUFFERS_MOST = 1000

# Seconds in which companions do what is to be done at their end. The other side kills this process after half a second.
END_S_MOST = 0.3


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Let the system send this process a signal, which kills it, when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def receive(control: socket.socket, count: int) -> bytes | None:
    """Read as many bytes, or none if the other side is gone."""
    parts = bytearray()
    while len(parts) < count:
        part = control.recv(min(count - len(parts), CHUNK_BYTES))
        if not part:
            return None
        parts += part
    return bytes(parts)


def reply(control: socket.socket, status: int, payload: bytes = b"") -> None:
    """Answer a request."""
    control.sendall(struct.pack("<BQ", status, len(payload)) + payload)


def prepare(payload: bytes) -> int | None:
    """Import what every function needs, while the other side pickles one. Return the limit on a companion's data."""
    sys.path[:], sys.argv[:], worker_memory = marshal.loads(payload)
    os.environ["TEGULA_COMPANION"] = "1"
    # The package's folder under another name, so that the package itself, and its native module, are not loaded.
    package = types.ModuleType("_tegula_map")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["_tegula_map"] = package
    importlib.import_module("_tegula_map._companion")
    with contextlib.suppress(ImportError):
        importlib.import_module("cloudpickle")
    return worker_memory  # type: ignore[no-any-return]


def load(program: bytes) -> tuple[Any, bytes | None]:
    """Load the program: what the function needs is imported now, before companions are forked."""
    companion = sys.modules["_tegula_map._companion"]
    try:
        loaded = pickle.loads(program)
        if loaded.get("imported"):
            # It takes part of a tenth of a second to import.
            importlib.import_module("_tegula_map.imported").check(loaded["imported"])
        return companion.Mapper(loaded), None
    except BaseException as error:
        text_and_pickle = b"".join(companion.packed_failure(0, error))[8:]
        return None, text_and_pickle


def main() -> None:
    """Serve requests until the other side closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing is garbage before there is a function to load.
    gc.disable()
    # A user's function that reads standard input must not read requests.
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    end_with(int(sys.argv[1]))
    children: set[int] = set()
    # The other side may be killed at any moment, and this process with it a little later.
    with contextlib.suppress(ConnectionError):
        mapper = answer(control, children)
        if mapper is not None and mapper.end_worker is not None:
            let_end(children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        ended(pid)
    # What libraries are to do at the end; the rest, which frees memory, takes 20 ms, and the run waits for it.
    atexit._run_exitfuncs()
    flush()
    os._exit(0)


def let_end(children: set[int]) -> None:
    """Wait a little for companions, whose connections are closed, and forget those that have ended."""
    until = time.monotonic() + END_S_MOST
    while children and time.monotonic() < until:
        children -= {pid for pid in children if has_ended(pid)}
        time.sleep(0.001)


def answer(control: socket.socket, children: set[int]) -> Any:
    """Answer requests until the other side closes its end, and return what maps."""
    mapper: Any = None
    worker_memory: int | None = None
    while True:
        head, files, _, _ = socket.recv_fds(control, 9, 3)
        if not head:
            break
        if len(head) < 9:
            rest = receive(control, 9 - len(head))
            if rest is None:
                break
            head += rest
        letter, length = struct.unpack("<cQ", head)
        payload = receive(control, length) if length else b""
        if payload is None:
            break
        if letter == b"S":
            worker_memory = prepare(payload)
        elif letter == b"I":
            gc.enable()
            mapper, failure = load(payload)
            gc.freeze()
            reply(control, int(failure is not None), failure or b"")
        elif letter == b"F":
            pid = fork(control, files, mapper, worker_memory)
            children.add(pid)
            for file in files:
                os.close(file)
            reply(control, 0, struct.pack("<i", pid))
        elif letter == b"W":
            (pid,) = struct.unpack("<i", payload)
            reply(control, 0, struct.pack("<i", ended(pid)))
            children.discard(pid)
    return mapper


def has_ended(pid: int) -> bool:
    """Whether a companion has ended, which is then waited for."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def ended(pid: int) -> int:
    """Wait for a companion and return its exit code, or its signal below 0."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


def fork(
    control: socket.socket, files: list[int], mapper: Any, worker_memory: int | None
) -> int:
    """Fork a companion."""
    zygote = os.getpid()
    # Otherwise each fork would print again what the setup has printed.
    flush()
    with warnings.catch_warnings():
        # Libraries that the function imported may have threads; those that do prepare for a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        end_with(zygote)
        control.close()
        if worker_memory is not None:
            limits = (worker_memory, worker_memory)
            resource.setrlimit(resource.RLIMIT_DATA, limits)
        mapper.begin()
        # What a function raises does not come here: only the engine's end is a connection that is reset.
        with contextlib.suppress(ConnectionError):
            serve(socket.socket(fileno=files[0]), files[1], files[2], mapper)
        if mapper.end_worker is not None:
            mapper.end_worker()
        code = 0
    except SystemExit as error:
        code = (
            error.code if isinstance(error.code, int) else int(error.code is not None)
        )
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        flush()
        os._exit(code & 0xFF)


def flush() -> None:
    """Show what the function printed."""
    for stream in (sys.stdout, sys.stderr):
        # This is done for each request, so without a context.
        try:  # noqa: SIM105
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


def serve(worker: socket.socket, source: int, target: int, mapper: Any) -> None:
    """Map parts of splits, or reduce values: they are in the file `source`, and what comes of them goes to the file
    `target`.

    A request is numbers of 8 bytes: 1 for a reduce, or 0; the number of parts; the bytes of each. The reply is the
    number of the part that failed, from 1, or 0; and the bytes that were written for each part.
    """
    while (request := noted(worker)) is not None:
        call = mapper.reduce if request[0] else mapper
        reply = array("Q", bytes(8 * (1 + request[1])))
        begin = at = 0
        for number, length in enumerate(request[2:], 1):
            status, buffers = call(read(source, length, begin))
            reply[number] = write(target, buffers, at)
            begin += length
            at += reply[number]
            if status:
                reply[0] = number
                break
        flush()
        worker.sendall(reply)


def noted(worker: socket.socket) -> memoryview[int] | None:
    """Wait for the numbers of a request; none if the other side is gone."""
    note = worker.recv(NOTE_BYTES)
    while note and (
        len(note) < 16 or len(note) < 16 + 8 * NUMBERS.unpack_from(note)[1]
    ):
        more = worker.recv(NOTE_BYTES)
        note = note + more if more else more
    return memoryview(note).cast("Q") if note else None


def read(file: int, length: int, begin: int) -> bytes:
    """Read a piece of a file."""
    data = os.pread(file, length, begin)
    if len(data) == length:
        return data
    parts = [data]
    while (at := sum(map(len, parts))) < length:
        parts.append(os.pread(file, min(length - at, CHUNK_BYTES), begin + at))
    return b"".join(parts)


def write(file: int, buffers: list[Any], at: int) -> int:
    """Write buffers at an offset, one after another, and return their bytes."""
    if len(buffers) > BUFFERS_MOST:
        buffers = [b"".join(buffers)]
    length = sum([memoryview(buffer).nbytes for buffer in buffers])
    written = os.pwritev(file, buffers, at)
    if written < length:
        rest = memoryview(b"".join(buffers))
        while written < length:
            written += os.pwrite(file, rest[written:], at + written)
    return length


if __name__ == "__main__":
    main()
