"""A server of jobs that speaks docs/api.md, with jobs from `states.py`: what the page is tested against.

It keeps every request that it gets, and it can stop and come back on the same port.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from states import GIB, Job

PAGE = Path(__file__).parents[2] / "page"
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
OVER = {"done", "failed", "cancelled"}


@dataclass
class Stream:
    """An open stream: of one job, or of all (None)."""

    job: int | None
    events: queue.Queue[tuple[str, Any] | None] = field(default_factory=queue.Queue)


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]


class FakeServer:
    """The jobs, and the threads that answer requests about them."""

    def __init__(self, cores: int = 8, group: int = 4, memory_bytes: int = 16 * GIB):
        self.token = "3f6c" * 16
        self.host = "big"
        self.cores, self.group, self.memory_bytes = cores, group, memory_bytes
        self.jobs: dict[int, Job] = {}
        self.requests: list[Request] = []
        self.streams_most = 64
        self.streams: list[Stream] = []
        self.lock = threading.RLock()
        self.events_sent = 0
        self.port = 0
        self.users = [
            {"name": "me", "weight": 1, "running": 0, "queued": 0, "core_s": 4.2}
        ]
        self.uptime_s = 12.5
        self.start()

    # The server as a process.

    def start(self) -> None:
        owner = self

        class Handler(RequestHandler):
            server_of_jobs = owner

        self.http = Listener(("127.0.0.1", self.port), Handler)
        self.port = self.http.server_port
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    def stop(self) -> None:
        """Close the port, all streams and all connections, as a process that is killed does."""
        with self.lock:
            for stream in self.streams:
                stream.events.put(None)
            self.streams.clear()
        self.http.shutdown()
        self.http.server_close()
        self.http.drop_connections()
        self.thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    # Jobs.

    def add(self, **fields: Any) -> Job:
        """Add a job with the next id, and tell the streams."""
        with self.lock:
            job = Job(id=max(self.jobs, default=0) + 1, **fields)
            self.jobs[job.id] = job
        self.tell(job)
        return job

    def tell(self, job: Job) -> None:
        """Send the summary of a job that has changed, and the machine."""
        if not self.streams:
            return
        summary = self.summary(job)
        self.send(job.id, "summary", summary)
        self.send(None, "job", summary)
        self.send(None, "machine", self.machine())

    def advance(self, job: Job, seconds: float, send_every_s: float = 0.25) -> None:
        """Let a job run on, and send what changes."""
        end = min(job.whole_s, job.at_s + seconds)
        while job.at_s < end:
            before = job.at_s
            job.at_s = min(end, before + send_every_s)
            self.send(job.id, "progress", {"job": job.id} | job.progress())
            lanes = {"job": job.id, "at_s": job.at_s, "from_s": before}
            self.send(job.id, "lanes", lanes | {"lanes": job.work(before, job.at_s)})
            if job.has_tiles:
                self.send(job.id, "tiles", {"job": job.id} | job.tile_grid())
            if int(job.at_s / 2) > int(before / 2) and (show := job.show()):
                self.send(job.id, "show", {"job": job.id} | show)
            self.send(None, "job", self.summary(job))

    def finish(self, job: Job, state: str = "done") -> None:
        """End a job as a server does: the last lines of the job, then its summary."""
        job.finish(state)
        self.send(job.id, "progress", {"job": job.id} | job.progress())
        if job.has_tiles:
            self.send(job.id, "tiles", {"job": job.id} | job.tile_grid())
        if show := job.show():
            self.send(job.id, "show", {"job": job.id} | show)
        if job.bad:
            self.send(job.id, "bad", {"job": job.id, "at_s": job.at_s} | job.bad)
        if stats := job.stats():
            self.send(
                job.id, "stats", {"job": job.id, "at_s": job.at_s, "stats": stats}
            )
        self.tell(job)

    def send(self, job: int | None, event: str, data: Any) -> None:
        with self.lock:
            self.events_sent += 1
            for stream in self.streams:
                if stream.job == job:
                    stream.events.put((event, data))

    # What the server says.

    def queue(self) -> list[Job]:
        waiting = [job for job in self.jobs.values() if job.state == "queued"]
        return sorted(waiting, key=lambda job: (-job.priority, job.id))

    def place(self, job: Job) -> int | None:
        return self.queue().index(job) + 1 if job.state == "queued" else None

    def summary(self, job: Job) -> dict[str, Any]:
        return job.summary(self.place(job))

    def snapshot(self, job: Job) -> dict[str, Any]:
        return job.snapshot(self.place(job))

    def machine(self) -> dict[str, Any]:
        running = [job for job in self.jobs.values() if job.state == "running"]
        cores: list[int | None] = [None] * self.cores
        for job in running:
            for core in range(
                job.first_core, min(self.cores, job.first_core + job.workers)
            ):
                cores[core] = job.id
        return {
            "version": "0.1.0",
            "host": self.host,
            "workers": self.cores,
            "groups": [
                {
                    "cores": f"{first}-{min(self.cores, first + self.group) - 1}",
                    "cache_bytes": 33_554_432,
                    "node": 0,
                }
                for first in range(0, self.cores, self.group)
            ],
            "memory_bytes": self.memory_bytes,
            "memory_free_bytes": self.memory_bytes
            - sum(job.memory_bytes for job in running),
            "jobs_at_once": max(2, self.cores // 4),
            "cores": cores,
            "running": [
                {
                    "id": job.id,
                    "user": job.user,
                    "name": job.name,
                    "cores": job.cores,
                    "memory_bytes": job.memory_bytes,
                    "memory_used_bytes": job.progress()["memory_bytes"],
                }
                for job in running
            ],
            "queue": [job.id for job in self.queue()[:100]],
            "queued": len(self.queue()),
            "finished": sum(job.is_over for job in self.jobs.values()),
            "users": self.users,
            "uptime_s": self.uptime_s,
        }

    def overview(self) -> dict[str, Any]:
        jobs = sorted(self.jobs.values(), key=lambda job: -job.id)
        over = [job for job in jobs if job.is_over]
        ended = sorted(over, key=lambda job: (-job.ended_at_s, -job.id))[:100]
        shown = {job.id for job in ended}
        missing = [job.id for job in over if job.id not in shown]
        return {
            "machine": self.machine(),
            "jobs": [
                self.summary(job) for job in jobs if not job.is_over or job.id in shown
            ],
            "next": missing[0] + 1 if missing else None,
        }


class Listener(ThreadingHTTPServer):
    """Knows its connections, so that they can be cut."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *arguments: Any):
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser closes connections whenever it likes."""

    def drop_connections(self) -> None:
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class RequestHandler(BaseHTTPRequestHandler):
    """Answers the routes of docs/api.md."""

    protocol_version = "HTTP/1.1"
    server_of_jobs: FakeServer

    def log_message(self, format: str, *arguments: Any) -> None:
        """Standard error stays empty."""

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def do_DELETE(self) -> None:
        self.answer()

    def answer(self) -> None:
        jobs = self.server_of_jobs
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        jobs.requests.append(Request(self.command, self.path, dict(self.headers)))
        url = urllib.parse.urlsplit(self.path)
        self.parameters = dict(urllib.parse.parse_qsl(url.query))
        if not url.path.startswith("/api/"):
            self.file(url.path)
        elif url.path == "/api/session":
            self.session()
        elif f"session={jobs.token}" not in self.headers.get("Cookie", ""):
            self.error(401, "no token, or a wrong one")
        elif url.path == "/api/events":
            self.events()
        else:
            with jobs.lock:
                self.route(url.path)

    def route(self, path: str) -> None:
        jobs = self.server_of_jobs
        if path == "/api/machine":
            self.json(200, jobs.machine())
        elif path == "/api/overview":
            self.json(200, jobs.overview())
        elif path == "/api/jobs":
            self.list()
        elif found := re.fullmatch(r"/api/jobs/(\d+)(?:/([a-z.]+))?", path):
            job = jobs.jobs.get(int(found[1]))
            if job is None:
                self.error(404, f"there is no job {found[1]}")
            else:
                self.job(job, found[2])
        else:
            self.error(404, "no such route")

    def list(self) -> None:
        jobs = self.server_of_jobs
        states = self.parameters.get("state", "").split(",")
        before = int(self.parameters.get("before", 1 << 50))
        count = int(self.parameters.get("count", 100))
        found = [
            job
            for job in sorted(jobs.jobs.values(), key=lambda job: -job.id)
            if (states == [""] or job.state in states) and job.id < before
        ]
        self.json(
            200,
            {
                "jobs": [jobs.summary(job) for job in found[:count]],
                "next": found[count - 1].id if len(found) > count else None,
            },
        )

    def job(self, job: Job, part: str | None) -> None:
        jobs = self.server_of_jobs
        match self.command, part:
            case "GET", None:
                self.json(200, jobs.snapshot(job))
            case "GET", "places":
                self.json(200, job.places())
            case "GET", "log":
                self.text(job.log.encode(), 1 << 20)
            case "GET", "answer":
                self.text(job.answer().encode())
            case "GET", "timeline.svg":
                self.bytes(
                    200,
                    b'<svg xmlns="http://www.w3.org/2000/svg"/>',
                    "image/svg+xml",
                )
            case "DELETE", None if job.is_over:
                self.error(409, f"job {job.id} is over: {job.state}")
            case "DELETE", None:
                job.cancelling = True
                self.json(202, jobs.summary(job))
                jobs.tell(job)
            case "POST", "again":
                again = jobs.add(
                    name=job.name,
                    command=job.command,
                    state="queued",
                    created_at_s=job.created_at_s,
                )
                self.json(201, {"id": again.id})
            case "POST", "priority":
                job.priority = json.loads(self.body)["priority"]
                self.json(200, jobs.summary(job))
                for waiting in jobs.queue():
                    jobs.tell(waiting)
            case _:
                self.error(404, "no such route")

    def session(self) -> None:
        jobs = self.server_of_jobs
        if self.headers.get("Authorization") != f"Bearer {jobs.token}":
            self.error(401, "no token, or a wrong one")
            return
        self.send_response(204)
        self.send_header(
            "Set-Cookie", f"session={jobs.token}; HttpOnly; SameSite=Strict; Path=/"
        )
        self.end_headers()

    def events(self) -> None:
        jobs = self.server_of_jobs
        wanted = self.parameters.get("job")
        with jobs.lock:
            if wanted is not None and int(wanted) not in jobs.jobs:
                self.error(404, f"there is no job {wanted}")
                return
            if len(jobs.streams) >= jobs.streams_most:
                self.error(429, "too many streams", {"Retry-After": "5"})
                return
            stream = Stream(int(wanted) if wanted else None)
            jobs.streams.append(stream)
            if "Last-Event-ID" not in self.headers:
                first = (
                    jobs.snapshot(jobs.jobs[stream.job])
                    if stream.job
                    else jobs.overview()
                )
                stream.events.put(("snapshot", first))
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            self.wfile.write(b"retry: 300\n\n")
            self.pass_on(stream)
        except OSError:
            pass
        finally:
            with jobs.lock:
                if stream in jobs.streams:
                    jobs.streams.remove(stream)

    def pass_on(self, stream: Stream) -> None:
        number = 0
        while True:
            try:
                event = stream.events.get(timeout=0.2)
            except queue.Empty:
                # A comment finds out whether anybody still reads.
                self.wfile.write(b":\n\n")
                continue
            if event is None:
                return
            kind, data = event
            number += 1
            text = f"event: {kind}\nid: fake-{number}\ndata: {json.dumps(data)}\n\n"
            self.wfile.write(text.encode())

    def file(self, path: str) -> None:
        file = PAGE / (path.lstrip("/") or "index.html")
        kind = TYPES.get(file.suffix)
        if kind is None or file.parent != PAGE or not file.is_file():
            self.error(404, "no such file")
            return
        headers = {
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }
        self.bytes(200, file.read_bytes(), kind, headers)

    def text(self, content: bytes, most: int = 1 << 50) -> None:
        """Send a part of a text, as its parameters say."""
        begin = int(self.parameters.get("from", 0))
        if "tail" in self.parameters:
            begin = max(0, len(content) - int(self.parameters["tail"]))
        part = content[begin:][:most]
        if "count" in self.parameters:
            part = b"".join(
                part.splitlines(keepends=True)[: int(self.parameters["count"])]
            )[: 1 << 20]
        headers = {
            "Tegula-Bytes": str(len(content)),
            "Tegula-Next": str(begin + len(part)),
        }
        self.bytes(200, part, "text/plain; charset=utf-8", headers)

    def json(self, status: int, data: Any) -> None:
        self.bytes(status, json.dumps(data).encode(), "application/json")

    def error(
        self, status: int, message: str, headers: dict[str, str] | None = None
    ) -> None:
        self.bytes(
            status, json.dumps({"error": message}).encode(), "application/json", headers
        )

    def bytes(
        self,
        status: int,
        content: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(HTTPStatus(status))
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)


def wait_for(condition: Any, seconds: float = 5.0) -> None:
    """Wait until a function is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
