"""Keys of a tenant at the command line, with a vendor of this machine."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from broker.tenant_keys.key_kinds import KeyProbe, TenantKeyKind, TenantKeyKinds
from tests.cli.conftest import Home

KEY = "pa-typed-0b9d"


class _Knowing(http.server.BaseHTTPRequestHandler):
    """A vendor that knows one key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200 if self.headers["Authorization"] == f"Bearer {KEY}" else 401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Knowing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    here = f"http://127.0.0.1:{server.server_port}"
    probe = KeyProbe(f"{here}/v1/embeddings", {"input": ["a"]})
    kinds = TenantKeyKinds([TenantKeyKind("voyage", "Voyage AI", ("pa-",), (here,), f"{here}/keys", probe)])
    with contextlib.ExitStack() as stack:
        stack.callback(server.server_close)
        stack.callback(thread.join)
        stack.callback(server.shutdown)
        # The running product has the real kinds, so it is not asked.
        stack.enter_context(mock.patch("cli.client.operator_api.find_operator_access", return_value=None))
        stack.enter_context(mock.patch("server.wiring.connect.TenantKeyKinds", return_value=kinds))
        yield server.server_port


def test_a_key_from_stored_to_removed(cli: Home, tenant: str, port: int, tmp_path: Path) -> None:
    there, allowed = ("--tenant", tenant), {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{port}"}
    assert [one["stored"] for one in cli.run("tenant-key", "list", "--json", *there).json()] == [False]
    assert f"127.0.0.1:{port}" in cli.run("tenant-key", "list", *there).out
    key = tmp_path / "key"
    key.write_text("pa-unknown-77")
    key.chmod(0o600)
    asked = ("tenant-key", "set", "voyage", "--from-file", str(key))
    refused = cli.run(*asked, *there, **allowed)
    assert (refused.code, "Voyage AI does not take the key" in refused.err) == (5, True), refused.err
    despite = cli.run(*asked, "--despite-failures", *there, **allowed)
    assert (despite.code, "does not take the key" in despite.err) == (0, True)
    key.write_text(KEY)
    stored = cli.run(*asked, "--json", *there, **allowed)
    assert (stored.json()["key"]["stored"], stored.json()["trial"]["outcome"]) == (True, "ok"), stored.err
    assert KEY not in stored.out + stored.err
    assert cli.run("tenant-key", "list", "--json", *there).json()[0]["stored"]
    assert not cli.run("tenant-key", "list", "--json", "--tenant", "default").json()[0]["stored"]
    typed = cli.run("tenant-key", "set", "voyage", KEY, *there)
    assert (typed.code, KEY in typed.err) == (2, False), "a secret on the command line"
    key.write_text("sk-of-another")
    assert "must begin with pa-" in cli.run(*asked, "--despite-failures", *there).err
    assert cli.run("tenant-key", "set", "made_up", "--from-file", str(key), *there).code == 4
    assert cli.run("tenant-key", "remove", "voyage", *there).code == 0
    assert cli.run("tenant-key", "remove", "voyage", *there).code == 4
