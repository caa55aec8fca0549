"""Of several commands at once that find an access token ended, one uses the refresh token."""

import contextlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cli.client.bearer_auth import LoginAuth
from cli.client.browser_sign_in import LoginTokens
from cli.client.login_store import Login, LoginStore
from cli.client.server_http import ServerHttp
from core.secret import Secret

COMMANDS = 6
SECONDS = 1.0
"""For which the first refresh waits for a second one, which must not come."""


class Server:
    """An authorization server that counts refreshes."""

    def __init__(self) -> None:
        self.refreshes: list[str] = []
        self.two = threading.Barrier(2)
        self.url = ""

    def document(self, path: str) -> dict[str, object]:
        if "protected-resource" in path:
            return {"resource": f"{self.url}/mcp", "authorization_servers": [self.url]}
        places = {f"{name}_endpoint": f"{self.url}/{name}" for name in ("authorization", "token", "revocation")}
        return {"issuer": self.url, "authorization_response_iss_parameter_supported": True, **places}

    def refreshed(self, form: str) -> dict[str, object]:
        self.refreshes.append(form)
        with contextlib.suppress(threading.BrokenBarrierError):
            self.two.wait(SECONDS)
        return {"access_token": "second", "refresh_token": "next", "expires_in": 600, "scope": "mcp:read"}


@contextlib.contextmanager
def served() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(state.document(self.path))

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"]))
            self._say(state.refreshed(form.decode()))

        def log_message(self, format: str, *args: object) -> None: ...

        def _say(self, document: dict[str, object]) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield state
        server.shutdown()


def test_one_refreshes_for_all(tmp_path: Path) -> None:
    with served() as server:
        ended = LoginTokens(Secret("first"), Secret("only"), datetime(2020, 1, 1, tzinfo=UTC), "mcp:read")
        LoginStore(tmp_path).put(Login(server.url, "1", "ada@acme.test", "acme", ended))

        def command(_: int) -> str:
            with ServerHttp(server.url) as http:
                return LoginAuth(http, LoginStore(tmp_path), server.url).get_token().reveal()

        with ThreadPoolExecutor(COMMANDS) as pool:
            assert set(pool.map(command, range(COMMANDS))) == {"second"}
        assert len(server.refreshes) == 1
        assert "refresh_token=only" in server.refreshes[0]
        found = LoginStore(tmp_path).find(server.url)
    assert found is not None
    assert found.tokens.refresh.reveal() == "next"
