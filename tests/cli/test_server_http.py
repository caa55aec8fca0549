"""Requests of the command line that a rate limit refuses."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cli.client.server_http import ServerHttp


@contextlib.contextmanager
def serving(answers: list[tuple[int, str]], received: list[bytes]) -> Iterator[str]:
    """A server that gives one (status, Retry-After) after another, and keeps the bodies of requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            status, retry_after = answers[len(received) - 1]
            self.send_response(status)
            self.send_header("Content-Length", "2")
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(
    ("answers", "status", "waits"),
    [
        ([(200, "")], 200, []),
        ([(429, "1"), (429, "2"), (200, "")], 200, [1, 2]),
        ([(429, "1")] * 4, 429, [1, 1, 1]),
        ([(429, "6")], 429, []),
        ([(429, "")], 429, []),
        ([(429, "Mon, 23 Nov 2026 00:00:00 GMT")], 429, []),
        ([(429, "9" * 5000)], 429, []),
        ([(503, "1")], 503, []),
    ],
)
def test_a_request_that_a_rate_limit_refused_is_sent_again(
    answers: list[tuple[int, str]], status: int, waits: list[float]
) -> None:
    slept: list[float] = []
    received: list[bytes] = []
    with serving(answers, received) as url, ServerHttp(url, slept.append) as http:
        assert http.send("POST", f"{url}/x", body={"name": "値"}).status == status
    assert slept == waits
    assert received == ['{"name":"値"}'.encode()] * len(answers)
