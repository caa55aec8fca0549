"""The loopback port that a browser brings the authorization server's answer to (RFC 8252 §7.3)."""

import contextlib
import hmac
import queue
import threading
import time
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from core.errors import Unavailable

PATH = "/callback"
SLOW = 5.0
MOST_QUERY = 8_192
DONE = (
    "Back to the terminal",
    '<p>You can close this window and go on in the terminal.</p><p lang="ja">このウィンドウを閉じて、ターミナルに'
    "戻ってください。</p>",
)
STRANGE = (
    "Not expected",
    '<p>The terminal is not waiting for this.</p><p lang="ja">ターミナルはこの応答を待っていません。</p>',
)
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{} – MCPist</title></head>
<body><main><h1>MCPist</h1>{}</main></body></html>"""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Answers = queue.SimpleQueue[Mapping[str, str]]


class Callback:
    """A port of this machine that waits for one answer."""

    def __init__(self, server: ThreadingHTTPServer, answers: Answers) -> None:
        self._answers = answers
        self.redirect_uri = f"http://127.0.0.1:{server.server_address[1]}{PATH}"

    def wait(self, seconds: float) -> Mapping[str, str]:
        """The parameters of the answer that knows our state.

        Raises:
            Unavailable: none came in time.
        """
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                # In short waits: a wait without end cannot be interrupted by the keyboard everywhere.
                return self._answers.get(timeout=min(left, 0.5))
        raise Unavailable(f"nobody has signed in within {lasting(seconds)}; run the command again")


def lasting(seconds: float) -> str:
    """A time as a person says it."""
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:g} minutes"
    return "one second" if seconds == 1 else f"{seconds:g} seconds"


@contextlib.contextmanager
def callback(state: str) -> Generator[Callback]:
    """Listen on a free port until the block is left. An answer with another state is none: any page can send one."""
    answers: Answers = queue.SimpleQueue()

    class Handler(_Handler):
        def is_expected(self, given: Mapping[str, str]) -> bool:
            return hmac.compare_digest(given.get("state", "").encode(), state.encode())

        def accept(self, given: Mapping[str, str]) -> None:
            answers.put(given)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True  # a browser's spare connection must not keep us
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        serving.start()
        try:
            yield Callback(server, answers)
        finally:
            server.shutdown()
            serving.join(SLOW)


class _Handler(BaseHTTPRequestHandler):
    timeout = SLOW
    server_version, sys_version = "mcpist", ""

    def is_expected(self, given: Mapping[str, str]) -> bool:
        """Whether this is the answer that is waited for."""
        raise NotImplementedError

    def accept(self, given: Mapping[str, str]) -> None:
        """Take it."""
        raise NotImplementedError

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        given = _parameters(query) if path == PATH else None
        if given is not None and self.is_expected(given):
            self._show(200, *DONE)
            self.accept(given)  # after it the program may end at any moment
        else:
            self._show(404 if path != PATH else 400, *STRANGE)

    def log_message(self, format: str, *args: object) -> None:
        """The answer's code stands in the URL: nothing of it is printed."""

    def _show(self, status: int, title: str, text: str) -> None:
        body = PAGE.format(title, text).encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _parameters(query: str) -> Mapping[str, str] | None:
    """None for a query that says something twice, or too much."""
    try:
        pairs = parse_qsl(query[: MOST_QUERY + 1], keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return None
    given = dict(pairs)
    return given if len(query) <= MOST_QUERY and len(given) == len(pairs) else None
