"""The person's browser: opens a link (``$BROWSER`` or the desktop's), and brings the authorization server's answer to a
loopback port (RFC 8252 §7.3)."""

import contextlib
import hmac
import os
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from core.errors import Unavailable


def open_browser(url: str) -> bool:
    """Open a browser without waiting for it; return whether one could be started.

    None gets this terminal: a browser that runs inside it would take it over.
    """
    return _open_with_environment(url) or _open_with_desktop(url)


def _open_with_environment(url: str) -> bool:
    """Run the first command of ``$BROWSER`` that can be run; they are separated by colons; ``%s`` stands for the URL,
    which is appended to a command without it."""
    for command in os.environ.get("BROWSER", "").split(os.pathsep):
        command_parts = _split_command(command)
        if not command_parts:
            continue
        arguments = [part.replace("%s", url) for part in command_parts]
        null = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            subprocess.Popen(  # noqa: S603 the person's own command
                arguments if arguments != command_parts else [*command_parts, url],
                stdin=null,
                stdout=null,
                stderr=null,
                start_new_session=True,
            )
            return True
    return False


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command.strip().removesuffix("&"))
    except ValueError:  # a quotation mark without its other half
        return []


def _open_with_desktop(url: str) -> bool:
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        return False
    import webbrowser

    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


CALLBACK_PATH = "/callback"
CLIENT_TIMEOUT = 5.0
MAX_QUERY_LENGTH = 8_192
DONE_PAGE = (
    "Back to the terminal",
    '<p>You can close this window and go on in the terminal.</p><p lang="ja">このウィンドウを閉じて、ターミナルに'
    "戻ってください。</p>",
)
UNEXPECTED_PAGE = (
    "Not expected",
    '<p>The terminal is not waiting for this.</p><p lang="ja">ターミナルはこの応答を待っていません。</p>',
)
PAGE_TEMPLATE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{} – MCPist</title></head>
<body><main><h1>MCPist</h1>{}</main></body></html>"""
PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

CallbackQueue = queue.SimpleQueue[Mapping[str, str]]


class LoopbackCallback:
    """A port of this machine that waits for one answer."""

    def __init__(self, server: ThreadingHTTPServer, callbacks: CallbackQueue) -> None:
        self._callbacks = callbacks
        self.redirect_uri = f"http://127.0.0.1:{server.server_address[1]}{CALLBACK_PATH}"

    def wait_for_parameters(self, seconds: float) -> Mapping[str, str]:
        """Return the parameters of the answer with the expected state.

        Raises:
            Unavailable: none came in time.
        """
        ends = time.monotonic() + seconds
        while (seconds_left := ends - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                # In short waits: a wait without end cannot be interrupted by the keyboard everywhere.
                return self._callbacks.get(timeout=min(seconds_left, 0.5))
        raise Unavailable(f"no sign-in within {format_duration(seconds)}; run the command again")


def format_duration(seconds: float) -> str:
    """Format a time as a person says it."""
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:g} minutes"
    return "one second" if seconds == 1 else f"{seconds:g} seconds"


@contextlib.contextmanager
def listen_for_callback(state: str) -> Generator[LoopbackCallback]:
    """Listen on a free port until the block is left. An answer with another state is none: any page can send one."""
    callbacks: CallbackQueue = queue.SimpleQueue()

    class Handler(_Handler):
        def is_expected(self, parameters: Mapping[str, str]) -> bool:
            return hmac.compare_digest(parameters.get("state", "").encode(), state.encode())

        def accept(self, parameters: Mapping[str, str]) -> None:
            callbacks.put(parameters)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True  # a browser's spare connection must not keep us
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        serving.start()
        try:
            yield LoopbackCallback(server, callbacks)
        finally:
            server.shutdown()
            serving.join(CLIENT_TIMEOUT)


class _Handler(BaseHTTPRequestHandler):
    timeout = CLIENT_TIMEOUT
    server_version, sys_version = "mcpist", ""

    def is_expected(self, parameters: Mapping[str, str]) -> bool:
        """Check whether this is the expected answer."""
        raise NotImplementedError

    def accept(self, parameters: Mapping[str, str]) -> None:
        """Take it."""
        raise NotImplementedError

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        parameters = _parse_parameters(query) if path == CALLBACK_PATH else None
        if parameters is not None and self.is_expected(parameters):
            self._send_page(200, *DONE_PAGE)
            self.accept(parameters)  # after it the program may end at any moment
        else:
            self._send_page(404 if path != CALLBACK_PATH else 400, *UNEXPECTED_PAGE)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the URL holds the authorization code."""

    def _send_page(self, status: int, title: str, text: str) -> None:
        body = PAGE_TEMPLATE.format(title, text).encode()
        self.send_response(status)
        for name, value in PAGE_HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _parse_parameters(query: str) -> Mapping[str, str] | None:
    """Parse a query; None where a parameter is repeated, or it is too long."""
    try:
        pairs = parse_qsl(query[: MAX_QUERY_LENGTH + 1], keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return None
    parameters = dict(pairs)
    return parameters if len(query) <= MAX_QUERY_LENGTH and len(parameters) == len(pairs) else None
