"""Servers of jobs, which `tegula serve` starts: they run jobs, and this process has their answers."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import pickle
import socket
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from tegula.engine import byte_count
from tegula.errors import Error, InputError, Interrupted, OptionError
from tegula.job import Job
from tegula.lines import Pairs, pairs_of, parsed
from tegula.result import Result
from tegula.seen import Seen

if TYPE_CHECKING:
    from tegula.job import Order

_PORT = 8642
# How often a job is looked at that runs, in seconds: seldom if it takes long.
_LOOK_FIRST, _LOOK_LAST = 0.01, 0.5
# How long a server may take to answer, in seconds.
_PATIENCE = 60
# The most bytes of a job's pickle: a server takes a megabyte of text.
_PICKLE_MOST = 700_000
_OVER = ("done", "failed", "cancelled")


class _Socket(http.client.HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(self._path)


class Server:
    """A server of jobs. Made by `connect`.

    Attributes:
        url: its address.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._token = token

    def __repr__(self) -> str:
        return f"<tegula.Server at {self.url}>"

    def submit(
        self,
        job: Job,
        *,
        top: int | None = None,
        order: Order | None = "key",
        memory: int | str | None = None,
        skip_bad: bool = False,
        name: str | None = None,
        priority: int = 0,
        least: int | None = None,
        most: int | None = None,
    ) -> Submitted:
        """Let the server run a job.

        top, order, memory, skip_bad: those of `Job.run`; memory is that of the job's process.
        name: a line for people.
        priority: jobs of a higher one begin first; -100 to 100.
        least, most: the cores without which it does not begin, and those that it may use.

        The input is read by the server: relative paths begin in this process's folder, on the server's machine, and all
        paths must be below its roots. A job that a command line gives exactly is submitted as that command. Any other,
        as one with a function of yours, is sent as a pickle, and needs a server that was started with `--allow-code`.
        """
        if not isinstance(job, Job):
            raise OptionError(
                f"submit: {job!r} is no job, as count() and sum() make it"
            )
        from tegula.commands import command_of

        job._plan(top, order, skip_bad, None)
        command = command_of(job, top, order, skip_bad)
        request = {"command": command, "folder": os.getcwd(), "priority": priority}
        if command is None:
            options = {"top": top, "order": order, "skip_bad": skip_bad}
            paths = job.pairs.source.plan.get("paths", [])
            request["command"] = ["python", *map(os.fsdecode, paths)]
            request["program"] = _program(job, options)
        limits = {"memory_bytes": byte_count("memory", memory), "name": name}
        limits |= {"least": least, "most": most}
        request |= {key: one for key, one in limits.items() if one is not None}
        number = self._json("POST", "/api/jobs", request)["id"]
        return Submitted(self, number, job, command is not None)

    def jobs(
        self, *, state: str | None = None, user: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the summaries of all jobs, the newest first, as the HTTP interface has them.

        state: "queued", "running", "done", "failed" or "cancelled"; several with commas.
        """
        given = {"count": 1000, "state": state, "user": user, "before": None}
        jobs: list[dict[str, Any]] = []
        while True:
            asked = {key: one for key, one in given.items() if one is not None}
            page = self._json("GET", f"/api/jobs?{urlencode(asked)}")
            jobs += page["jobs"]
            given["before"] = page["next"]
            if page["next"] is None:
                return jobs

    def cancel(self, number: int) -> None:
        """Cancel a job that waits or runs. Raises `Error` if it is over."""
        self._ask("DELETE", f"/api/jobs/{number}")

    def wait(self, number: int) -> dict[str, Any]:
        """Wait until a job is over, and return what is known of it."""
        pause = _LOOK_FIRST
        while (job := self._json("GET", f"/api/jobs/{number}"))["state"] not in _OVER:
            time.sleep(pause)
            pause = min(1.5 * pause, _LOOK_LAST)
        return dict(job)

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._ask(method, path, body))
        return answer

    def _ask(self, method: str, path: str, body: Any = None) -> bytes:
        with self._reply(method, path, body) as reply:
            data: bytes = reply.read()
        if reply.status >= 300:
            raise _refused(reply.status, data)
        return data

    def _reply(
        self, method: str, path: str, body: Any = None
    ) -> http.client.HTTPResponse:
        connection: http.client.HTTPConnection
        if self.url.startswith("unix:"):
            connection = _Socket(self.url.removeprefix("unix:"))
        else:
            parts = urlsplit(self.url)
            secure = parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(parts.netloc, timeout=_PATIENCE)
        headers = {"Authorization": f"Bearer {self._token}", "Connection": "close"}
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise Error(
                f"{self.url}: {error}; is a server there? start it with `tegula serve`"
            ) from None


class Submitted:
    """A job of a server. Made by `Server.submit`.

    Attributes:
        id: its number there.
    """

    def __init__(self, server: Server, number: int, job: Job, is_command: bool) -> None:
        self._server = server
        self.id = number
        self._job = job
        self._is_command = is_command

    def __repr__(self) -> str:
        return f"<tegula.Submitted {self.id} at {self._server.url}>"

    def status(self) -> dict[str, Any]:
        """Return what the server knows of the job now: its state, progress, tiles and more."""
        return self._server._json("GET", f"/api/jobs/{self.id}")

    def wait(self) -> dict[str, Any]:
        """Wait until the job is over, and return its last status."""
        return self._server.wait(self.id)

    def cancel(self) -> None:
        """Cancel the job. Raises `Error` if it is over."""
        self._server.cancel(self.id)

    def log(self) -> str:
        """Return the end of what the job has said on standard error."""
        log = self._server._ask("GET", f"/api/jobs/{self.id}/log")
        return log.decode(errors="replace")

    def result(self) -> Result:
        """Wait for the answer and return it, as `Job.run` does. Raises `Interrupted` if the job was cancelled, and
        `Error` with the job's own words if it failed.
        """
        status = self.wait()
        if status["state"] == "cancelled":
            raise Interrupted(f"job {self.id} was cancelled")
        if status["state"] == "failed":
            raise Error(f"job {self.id} failed: {status['message']}")
        text = self._server._ask("GET", f"/api/jobs/{self.id}/answer")
        return self._result(list(self._pairs(parsed(text))), status["stats"])

    def stream(self) -> Iterator[Seen]:
        """Yield the answers so far, every two seconds, and at last that of the whole input, as `Job.stream` does.

        The answers before the last are the pairs with the greatest values: as many as `top`, at most 100, or 10. There
        are none of jobs that have no values to rank. Leaving the loop does not stop the job.
        """
        since: list[tuple[frozenset[Any], int]] = []
        number = 0
        for show in self._shows():
            number = show["show"]
            if show["is_last"] or not show["pairs"]:
                continue
            shown = self._result(list(self._pairs(show["pairs"])))
            told: Any = _Shown(show, shown, since)
            estimated: Any = _Estimated(show["pairs"], shown)
            yield Seen(told, shown, estimated)
        result = self.result()
        status = self.status()
        whole = (status["stats"] or {}).get("bytes") or status["progress"]["bytes_done"]
        last = {"show": number + 1, "bytes": whole, "bytes_planned": whole, "part": 1.0}
        last |= {"keys": len(result), "elapsed_s": status["elapsed_s"], "is_last": True}
        told = _Shown(last, result, since)
        yield Seen(told, result, "this answer is final")

    def _shows(self) -> Iterator[dict[str, Any]]:
        """Yield the shows that the server tells, each once, until the job is over."""
        seen = -1
        while True:
            with self._server._reply("GET", f"/api/events?job={self.id}") as reply:
                if reply.status >= 300:
                    raise _refused(reply.status, reply.read())
                kind = ""
                for line in reply:
                    if line.startswith(b"event: "):
                        kind = line[7:].strip().decode()
                    if not line.startswith(b"data: "):
                        continue
                    data = json.loads(line[6:])
                    show = data if kind == "show" else data.get("show")
                    if kind in ("show", "snapshot") and show and show["show"] > seen:
                        seen = show["show"]
                        yield show
                    if kind in ("summary", "snapshot") and data["state"] in _OVER:
                        return

    def _pairs(self, lines: Any) -> Iterator[tuple[Any, Any]]:
        job = self._job
        # Keys of other types are pickled in the lines of a job in Python.
        is_text = not self._is_command or job.pairs.keys == "text"
        if self._is_command and job.pairs.plan["kind"] == "index":
            return _index(lines, is_text)
        is_sum = self._is_command and job.combine == "sum"
        return pairs_of(lines, self._names(), is_text, is_sum)

    def _names(self) -> list[str]:
        return [name for name, _, _ in self._job.columns]

    def _result(
        self, pairs: list[tuple[Any, Any]], stats: dict[str, Any] | None = None
    ) -> Result:
        names, is_reduced = self._names(), self._job.reducer is not None
        answer: Any = Pairs(pairs, names, stats)
        return Result(answer, names, None, is_reduced)


class _Shown:
    """A show, as the native module has it."""

    def __init__(
        self,
        show: dict[str, Any],
        result: Result,
        since: list[tuple[frozenset[Any], int]],
    ) -> None:
        """`since`: for each number of first keys which they were in the last show, and since which byte."""
        self.number = show["show"]
        self.bytes = show["bytes"]
        self.bytes_planned = show["bytes_planned"] or None
        self.part = show.get("part")
        self.keys = show["keys"]
        self.seconds = show["elapsed_s"]
        self.is_last = show["is_last"]
        pairs = _ranked(result) if self.is_last else list(result)
        first = [key for key, _ in pairs]
        sets = [frozenset(first[: place + 1]) for place in range(len(first))]
        before = [*since, *[(frozenset[Any](), 0)] * len(sets)]
        since[:] = [
            last if last[0] == now else (now, self.bytes)
            for now, last in zip(sets, before, strict=False)
        ]
        self.stable = [byte for _, byte in since]


def _ranked(result: Result) -> list[tuple[Any, Any]]:
    """Return the first pairs by value; none where values have no order."""
    try:
        return result.top(100)
    except (OptionError, TypeError):
        return []


class _Estimated:
    """The estimates in the lines of a show."""

    def __init__(self, lines: list[dict[str, Any]], result: Result) -> None:
        self._lines = lines
        self._names = result.columns

    def of(self, column: int, place: int) -> tuple[float, float | None] | None:
        line = self._lines[place]
        # Without columns, the value has the name that the command gives it.
        name = self._names[column] if self._names else list(line)[1]
        if f"{name}_estimate" not in line:
            raise IndexError(name)
        total, within = line[f"{name}_estimate"], line[f"{name}_within"]
        return float(total), None if within is None else float(within)


def _index(lines: Any, is_text: bool) -> Iterator[tuple[Any, Any]]:
    """Return the pairs of an index, which has a line for each word and file."""
    from tegula.ready import Place

    def word_of(line: dict[str, Any]) -> bytes:
        hexed = line.get("word_hex")
        return line["word"].encode() if hexed is None else bytes.fromhex(hexed)

    for word, of_word in groupby(lines, key=word_of):
        places = []
        for line in of_word:
            hexed = line.get("file_hex")
            file = line["file"] if hexed is None else os.fsdecode(bytes.fromhex(hexed))
            places += [Place(file, offset) for offset in line["offsets"]]
        yield word.decode("utf-8", "surrogateescape") if is_text else word, places


def _program(job: Job, options: dict[str, Any]) -> str:
    """Return a job and the options of its run as text, for a Python process of the server's."""
    from tegula._pickling import dumps

    try:
        data = dumps((job, options))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        raise OptionError(
            f"submit: the job cannot be sent to a server: {error}"
        ) from None
    if len(data) > _PICKLE_MOST:
        raise OptionError(
            f"submit: the job takes {len(data):,} bytes, and a server takes {_PICKLE_MOST:,}: read data from files"
        )
    digest = hashlib.blake2b(data, digest_size=20).hexdigest()
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{version} {digest} {base64.b64encode(data).decode()}"


def _refused(status: int, data: bytes) -> Error:
    """Return the error of a request that the server refused."""
    try:
        cause = json.loads(data)["error"]
    except (ValueError, KeyError, TypeError):
        cause = f"status {status}"
    kinds = {400: OptionError, 403: InputError}
    return kinds.get(status, Error)(f"the server says: {cause}")


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> Server:
    """Return the server of jobs at an address: `tg.connect().submit(job).result()` is what `job.run()` is.

    url: "http://ADDRESS:PORT", also as `tegula serve` prints it, with its token; or "unix:PATH". Default:
        $TEGULA_SERVER, or the port 8642 of this machine.
    token: the server's token. Default: that in `token_file`, in the file that $TEGULA_TOKEN_FILE names, or in the file
        that `tegula serve` has left for this user.

    The answers of jobs with functions of yours are unpickled here, so connect only to servers that you trust with this
    process. Raises `Error` if no token is found; whether the server is there shows with the first request.
    """
    url = url or os.environ.get("TEGULA_SERVER") or f"http://127.0.0.1:{_PORT}"
    url, _, fragment = url.partition("#")
    url = url.rstrip("/")
    if not url.startswith(("http://", "https://", "unix:")):
        raise OptionError(f'url: {url!r}; give "http://ADDRESS:PORT" or "unix:PATH"')
    if token is None and fragment.startswith("token="):
        token = fragment.removeprefix("token=")
    if token is None:
        named = token_file or os.environ.get("TEGULA_TOKEN_FILE")
        if named is None:
            port = url.rpartition(":")[2]
            own = Path.home() / ".tegula" / f"serve-{port}.token"
            named = f"{url[5:]}.token" if url.startswith("unix:") else own
        try:
            token = Path(named).read_text()
        except OSError as error:
            raise Error(
                f"{named}: cannot read the token: {error.strerror}; is a server at {url}? start it with `tegula serve`"
            ) from None
    return Server(url, token.strip())
