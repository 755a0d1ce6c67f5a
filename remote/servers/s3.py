"""S3 servers on loopback, for tests: moto (https://docs.getmoto.org) over HTTP, each in a process of its own.

Commands come on standard input, one a line, and each is answered by a line on standard output:

    start signed    a server that checks signatures, and knows one key: answers "PID PORT"
    start public    a server that answers requests without signatures, and whose lists have no ETags
    stop PID        ends a server: answers "done"

The end of standard input ends all of them, so no server outlives the program that started it. Clients that sign
may write. A test fills buckets by PUT and DELETE of /BUCKET/KEY, for which no signature is needed.
"""

import logging
import os
import re
import signal
import sys
from urllib.parse import quote, unquote, unquote_plus

from flask import has_request_context, request
from moto import settings
from moto.core import DEFAULT_ACCOUNT_ID
from moto.iam.models import iam_backends
from moto.s3.models import FakeKey, get_canned_acl, s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from waitress import create_server

# The one key that a signed server knows: its account may do all.
KEY_ID, SECRET = "tegula", "secret of tegula"
ALLOW_ALL = """{"Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}"""
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
TAG = re.compile(rb"<ETag>[^<]*</ETag>")
THREADS = 8


class Ranges:
    """An object whose bytes are read when a range of them is asked for."""

    def __init__(self, key):
        self.key = key

    def __len__(self):
        return self.key.contentsize

    def __getitem__(self, span):
        with self.key.lock:
            self.key._value_buffer.seek(span.start)
            return self.key._value_buffer.read(span.stop - span.start)


def value(key):
    """Replaces moto's way to read an object, which reads it whole for each range: 0.7 s of 500 MB."""
    if has_request_context() and "Range" in request.headers:
        return Ranges(key)
    return Ranges(key)[0 : key.contentsize]


def canonical(query):
    """Encodes a query anew, as signatures want it: moto compares it as it came, S3 does not."""
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return "&".join(f"{encoded(name)}={encoded(value)}" for name, _, value in pairs)


def encoded(text):
    return quote(unquote_plus(text), safe="-_.~")


class Server:
    """The WSGI application of one server."""

    def __init__(self, signed):
        self.signed = signed
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.store = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        if signed:
            settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
            users = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
            users.create_user("us-east-1", "test")
            users.put_user_policy("test", "all", ALLOW_ALL)
            key = users.create_access_key("test")
            key.access_key_id, key.secret_access_key = KEY_ID, SECRET

    def __call__(self, environ, start_response):
        # Where moto looks for the path as it was signed.
        environ["RAW_URI"] = environ["REQUEST_URI"]
        environ["QUERY_STRING"] = canonical(environ["QUERY_STRING"])
        method = environ["REQUEST_METHOD"]
        is_signed = "HTTP_AUTHORIZATION" in environ
        if method in ("PUT", "DELETE") and not is_signed:
            self.change(method, environ)
            start_response("200 OK", [("Content-Length", "0")])
            return []
        # Of a request without a signature moto would say that it has a fault itself.
        if self.signed and not is_signed:
            start_response("403 Forbidden", [("Content-Length", str(len(DENIED)))])
            return [DENIED]
        if self.signed or "list-type" not in environ["QUERY_STRING"]:
            return self.moto(environ, start_response)
        return self.list_without_tags(environ, start_response)

    def change(self, method, environ):
        path = unquote(environ["REQUEST_URI"]).lstrip("/")
        bucket, _, name = path.partition("/")
        if bucket not in self.store.buckets:
            self.store.create_bucket(bucket, "us-east-1")
        if method == "PUT":
            key = self.store.put_object(bucket, name, environ["wsgi.input"].read())
            key.set_acl(get_canned_acl("private" if self.signed else "public-read"))
        else:
            self.store.delete_object(bucket, name)

    def list_without_tags(self, environ, start_response):
        """As some servers list objects."""
        head = []
        body = b"".join(self.moto(environ, lambda *given: head.extend(given)))
        body = TAG.sub(b"", body)
        headers = [field for field in head[1] if field[0].lower() != "content-length"]
        start_response(head[0], [*headers, ("Content-Length", str(len(body)))])
        return [body]


def serve(signed, ready):
    # That requests wait for a thread is no news.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = create_server(
        Server(signed),
        host="127.0.0.1",
        port=0,
        threads=THREADS,
        max_request_body_size=1 << 40,
    )
    os.write(ready, f"{os.getpid()} {server.effective_port}\n".encode())
    server.run()


def start(signed):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(0)
        serve(signed, 1)
    return pid


def stop(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def main():
    # All that servers share is loaded once, before the first of them is split off.
    create_backend_app("s3")
    FakeKey.value = property(value, FakeKey.value.fset)
    running = set()
    for line in sys.stdin:
        match line.split():
            case ["start", kind]:
                running.add(start(kind == "signed"))
            case ["stop", pid]:
                running.remove(int(pid))
                stop(int(pid))
                print("done", flush=True)
    for pid in running:
        stop(pid)


if __name__ == "__main__":
    main()
