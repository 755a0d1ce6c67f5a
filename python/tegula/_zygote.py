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
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import types
import warnings
from typing import Any

Setting = dict[str, Any]

PR_SET_PDEATHSIG = 1
CHUNK_BYTES = 1 << 30
# The system writes at most 1024 buffers at a time.
BUFFERS_MOST = 1000
# The bytes of a split and whether it is to be reduced; the status and the bytes of what came of it.
REQUEST = struct.Struct("<Q?7x")
REPLY = struct.Struct("<QQ")


def end_with(parent: int) -> None:
    """Let the system kill this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def receive(control: socket.socket, count: int) -> bytes | None:
    """Read as many bytes, or none if the other side is gone."""
    part = control.recv(min(count, CHUNK_BYTES))
    if len(part) == count:
        return part
    parts = bytearray(part)
    while part and len(parts) < count:
        part = control.recv(min(count - len(parts), CHUNK_BYTES))
        parts += part
    return bytes(parts) if part else None


def reply(control: socket.socket, status: int, payload: bytes = b"") -> None:
    """Answer a request."""
    control.sendall(struct.pack("<BQ", status, len(payload)) + payload)


def load(payload: bytes) -> tuple[Any, Setting, bytes | None]:
    """Load the program: what the function needs is imported now, before companions are forked."""
    setting, program = pickle.loads(payload)
    sys.path[:] = setting["path"]
    sys.argv[:] = setting["argv"]
    os.environ["TEGULA_COMPANION"] = "1"
    # The package's folder under another name, so that the package itself, and its native module, are not loaded.
    package = types.ModuleType("_tegula_map")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["_tegula_map"] = package
    companion = importlib.import_module("_tegula_map._companion")
    try:
        function = pickle.loads(program)
        gc.enable()
        mapper = companion.Mapper(function)
    except BaseException as error:
        text_and_pickle = b"".join(companion.packed_failure(0, error))[8:]
        return None, setting, text_and_pickle
    return mapper, setting, None


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
        answer(control, children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        ended(pid)
    # What libraries are to do at the end; the rest, which frees memory, takes 20 ms, and the run waits for it.
    atexit._run_exitfuncs()
    flush()
    os._exit(0)


def answer(control: socket.socket, children: set[int]) -> None:
    """Answer requests until the other side closes its end."""
    mapper: Any = None
    setting: Setting = {}
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
        if letter == b"I":
            mapper, setting, failure = load(payload)
            gc.freeze()
            reply(control, int(failure is not None), failure or b"")
        elif letter == b"F":
            pid = fork(control, files, mapper, setting)
            children.add(pid)
            for file in files:
                os.close(file)
            reply(control, 0, struct.pack("<i", pid))
        elif letter == b"W":
            (pid,) = struct.unpack("<i", payload)
            reply(control, 0, struct.pack("<i", ended(pid)))
            children.discard(pid)


def ended(pid: int) -> int:
    """Wait for a companion and return its exit code, or its signal below 0."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


def fork(
    control: socket.socket, files: list[int], mapper: Any, setting: Setting
) -> int:
    """Fork a companion."""
    zygote = os.getpid()
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
        if setting["worker_memory"] is not None:
            limit = setting["worker_memory"]
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        mapper.begin()
        # What a function raises does not come here: only the engine's end is a connection that is reset.
        with contextlib.suppress(ConnectionError):
            serve(socket.socket(fileno=files[0]), files[1], files[2], mapper)
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
    """Map splits, or reduce values: they are in the file `source`, and what comes of them goes to the file `target`."""
    while (request := receive(worker, REQUEST.size)) is not None:
        length, is_reduce = REQUEST.unpack(request)
        call = mapper.reduce if is_reduce else mapper
        # The split has no name here, so its memory is free when the next one is read.
        status, buffers = call(read(source, length))
        length = write(target, buffers)
        flush()
        worker.sendall(REPLY.pack(status, length))


def read(file: int, length: int) -> bytes:
    """Read the begin of a file."""
    data = os.pread(file, length, 0)
    if len(data) == length:
        return data
    parts = [data]
    while (at := sum(map(len, parts))) < length:
        parts.append(os.pread(file, min(length - at, CHUNK_BYTES), at))
    return b"".join(parts)


def write(file: int, buffers: list[Any]) -> int:
    """Write buffers one after another to a file, and return their bytes."""
    if len(buffers) > BUFFERS_MOST:
        buffers = [b"".join(buffers)]
    length = sum([memoryview(buffer).nbytes for buffer in buffers])
    written = os.pwritev(file, buffers, 0)
    if written < length:
        rest = memoryview(b"".join(buffers))
        while written < length:
            written += os.pwrite(file, rest[written:], written)
    return length


if __name__ == "__main__":
    main()
