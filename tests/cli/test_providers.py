"""Vendors at the command line: a document by discovery, and whole into the next deployment."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from tests.cli.conftest import Home


@contextmanager
def issuer() -> Iterator[str]:
    """An authorization server, as far as it publishes what it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            told = {"issuer": url, "authorization_endpoint": url + "/authorize", "token_endpoint": url + "/token"}
            told |= {"registration_endpoint": url + "/register", "scopes_supported": ["shop.read"]}  # type: ignore[dict-item]
            found = self.path == "/.well-known/oauth-authorization-server"
            body = json.dumps(told if found else {}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_vendor_is_found_by_what_its_server_publishes(cli: Home, tenant: str, tmp_path: Path) -> None:
    there = ("--tenant", tenant)
    # The running product has another list of hosts: the command's own process answers.
    with mock.patch("cli.client.operator_api.find_operator_access", return_value=None), issuer() as url:
        asked = ("provider", "add", "--discover", url, "--id", "acme", "--title", "Acme", *there)
        allowed = {"MCPIST_ALLOWED_PRIVATE_HOSTS": url.partition("://")[2]}
        refused = cli.run(*asked)
        assert (refused.code, "MCPIST_ALLOWED_PRIVATE_HOSTS" in refused.err) == (2, True)
        draft = cli.run(*asked, "--draft", **allowed)
        assert (draft.code, "shop.read" in draft.err) == (0, True), draft.err
        assert cli.run("provider", "show", "acme", *there).code == 4, "nothing was stored"
        file = tmp_path / "acme.json"
        file.write_text(draft.out)
        made = cli.run("provider", "add", str(file), *there, **allowed)
        assert made.code == 0, made.err
        assert "The provider acme is added" in made.out
        assert "becomes a client there by itself" in made.out
        same = cli.run(*asked, "--json", **allowed).json()
    assert same["version"] == 1
    assert same["document"] == json.loads(draft.out)["acme"]
    shown = cli.run("provider", "show", "acme", *there).out
    for told in ("Vendor: Acme", "From: custom", "by registration", "0 OAuth clients, 0 accounts, 0 credentials"):
        assert told in shown
    listed = cli.run("provider", "list", *there).out
    assert "From" in listed
    assert "Acme" in listed
    assert cli.run("provider", "remove", "acme", *there).code == 0


def test_a_file_that_is_no_provider_names_what_is_wrong(cli: Home, tenant: str, tmp_path: Path) -> None:
    file = tmp_path / "acme.toml"
    for text, told in (
        ("[acme", "not valid TOML"),
        ('{"acme": ', "not valid JSON"),
        ("[a]\n[b]", "give one table"),
        ("[acme]\ntitle = 2020-01-01", "must not contain dates"),
        ('[acme]\ntitle = "A"\n[acme.oauth]\ntoken_url = "https://a.example"',
         "acme.oauth.authorize_url: it is missing"),
        ('[acme]\ntitle = "A"\n[acme.modules.nowhere]\n[acme.key]\ncheck_url = "https://a.example/"\nid = "/id"',
         "acme.modules.nowhere: there is no module of that name"),
    ):  # fmt: skip
        file.write_text(text)
        ended = cli.run("provider", "add", str(file), "--tenant", tenant)
        assert (ended.code, told in ended.err) == (2, True), ended.err
    file.write_bytes(b"\xff")
    assert cli.run("provider", "add", str(file), "--tenant", tenant).code == 2
