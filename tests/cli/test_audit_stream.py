"""The stream of the audit log at the command line, with a collector that is not there and one that is."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Home

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


class _Taking(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Taking)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stream_from_tried_to_removed(cli: Home, port: int, tmp_path: Path) -> None:
    key = tmp_path / "secret"
    key.write_text(SECRET)
    key.chmod(0o600)
    asked = ("audit", "stream", "set", f"http://127.0.0.1:{port}/logs", "--from-file", str(key), "--tenant", "default")
    allowed = {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{port}"}
    assert cli.run("audit", "stream", "show", "--tenant", "default").code == 4
    refused = cli.run(*asked)
    assert "MCPIST_ALLOWED_PRIVATE_HOSTS" in refused.err
    assert refused.code != 0
    stored = cli.run(*asked, "--despite-failures", "--from-beginning", "--json", **allowed)
    assert (stored.code, stored.json()["stream"]["position"]) == (0, 0), stored.err
    shown = cli.run("audit", "stream", "show", "--tenant", "default", "--json").json()
    assert (shown["url"], shown["enabled"]) == (f"http://127.0.0.1:{port}/logs", True)
    assert f":{port}/logs" in cli.run("audit", "stream", "show", "--tenant", "default").out
    assert "audit stream (default)" in cli.run("doctor").out
    assert cli.run(*asked[:4], SECRET, "--tenant", "default").code == 2, "a secret on the command line"
    off = ("audit", "stream", "set", shown["url"], "--keep-secret", "--off", "--tenant", "default")
    assert cli.run(*off, "--json").json()["stream"]["enabled"] is False
    assert "switched off" in cli.run("doctor").out
    assert cli.run("audit", "stream", "remove", "--tenant", "default").code == 0
    assert cli.run("audit", "stream", "remove", "--tenant", "default").code == 4
    assert "audit stream (default)" not in cli.run("doctor").out
