"""OAuth clients and trusted issuers at the command line: registered, switched off, removed; a secret is seen once."""

import json
from pathlib import Path
from typing import Any

from tests.broker.authorization_server.client_registry_app import ec_key, public_set
from tests.cli.conftest import Ended, Home

URI = "https://app.example.com/cb"


def test_a_client_for_people(cli: Home, tenant: str) -> None:
    def run(*arguments: str) -> Ended:
        return cli.run(*arguments, "--tenant", tenant)

    assert "client add" in run("client", "list").out
    added = run("client", "add", "My App", "--redirect-uri", URI, "--redirect-uri", "http://127.0.0.1/cb")
    assert (added.code, added.err) == (0, "")
    client_id = added.out.removeprefix("client_id=").rstrip("\n")
    [listed] = run("client", "list", "--json").json()
    del listed["created_at"]
    assert listed == {
        "client_id": client_id,
        "name": "My App",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "redirect_uris": [URI, "http://127.0.0.1/cb"],
        "scopes": ["mcp:read", "mcp:write"],
        "acts_as": None,
        "disabled_at": None,
        "tool_result_format": None,
        "result_tokens": None,
        "tool_exposure": None,
    }
    assert client_id in run("client", "list").out
    assert run("client", "disable", client_id).code == 0
    assert run("client", "list", "--json").json()[0]["disabled_at"]
    assert run("client", "enable", client_id, "--json").json() == {"client_id": client_id, "enabled": True}
    assert not run("client", "list", "--json").json()[0]["disabled_at"]
    assert run("client", "remove", client_id).code == 0
    assert [run("client", verb, client_id).code for verb in ("remove", "disable", "enable")] == [4, 4, 4]
    kinds = [one["kind"] for one in run("audit", "--kind", "client", "--json").json()["items"]]
    assert sorted(kinds) == ["client.changed", "client.changed", "client.created", "client.removed"]


def test_what_a_client_is_sent(cli: Home, tenant: str) -> None:
    def run(*arguments: str) -> Ended:
        return cli.run("client", *arguments, "--tenant", tenant)

    made = run("add", "App", "--redirect-uri", URI, "--tool-result-format", "short", "--json").json()
    assert made["tool_result_format"] == "short"
    for wanted, shown in (("full", "full"), ("default", None), ("short", "short")):
        changed = run("set", made["client_id"], "--tool-result-format", wanted, "--json").json()
        assert changed == {"client_id": made["client_id"], "tool_result_format": shown}
        assert run("list", "--json").json()[0]["tool_result_format"] == shown
    assert run("set", "client_none", "--tool-result-format", "full").code == 4
    assert run("set", made["client_id"]).code == 2
    for wanted, shown in (("4000", 4000), ("0", None)):
        changed = run("set", made["client_id"], "--result-tokens", wanted, "--json").json()
        assert changed == {"client_id": made["client_id"], "result_tokens": shown}
        assert run("list", "--json").json()[0]["result_tokens"] == shown
    for wanted, shown in (("both:lab.look", "both:lab.look"), ("default", None)):
        changed = run("set", made["client_id"], "--tool-exposure", wanted, "--json").json()
        assert changed == {"client_id": made["client_id"], "tool_exposure": shown}
        assert run("list", "--json").json()[0]["tool_exposure"] == shown
    refused = run("set", made["client_id"], "--tool-exposure", "some")
    assert refused.code == 2
    assert "plain:github,notion" in refused.err
    assert run("set", made["client_id"], "--result-tokens", "199").code == 2
    assert run("add", "x", "--redirect-uri", URI, "--tool-result-format", "long").code == 2


def test_a_secret_is_shown_once(cli: Home, tenant: str) -> None:
    machine = ("client", "add", "Robot", "--acts-as", "ada@example.com", "--tenant", tenant)
    added = cli.run(*machine)
    client_id, secret = (line.partition("=")[2] for line in added.out.splitlines())
    assert secret.startswith("mcpist_secret_")
    assert secret not in added.err
    assert "once" in added.err
    made = cli.run(*machine, "--json").json()
    assert made["client_secret"] != secret
    assert made["grant_types"] == ["client_credentials"]
    listed = cli.run("client", "list", "--tenant", tenant, "--json")
    assert {one["acts_as"] for one in listed.json()} == {"ada@example.com"}
    table, audit = (cli.run(*what, "--tenant", tenant).out for what in (("client", "list"), ("audit", "--json")))
    for shown in (listed.out, table, audit):
        assert client_id in shown
        assert secret[14:] not in shown
        assert made["client_secret"][14:] not in shown


def test_a_client_with_keys(cli: Home, tenant: str, tmp_path: Path) -> None:
    def add(content: Any, *more: str) -> Ended:
        file = tmp_path / "keys.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        asked = ("client", "add", "Signer", "--enterprise", "--jwks", str(file), "--json", "--tenant", tenant)
        return cli.run(*asked, *more)

    for content in (public_set(ec_key()), ec_key().as_dict(private=False)):
        made = add(content).json()
        assert (made["token_endpoint_auth_method"], made["client_secret"]) == ("private_key_jwt", None)
    private = add(public_set(ec_key()) | {"keys": [ec_key().as_dict(private=True)]})
    assert private.code == 2
    assert "private key" in private.error()["message"]
    assert str(ec_key().as_dict(private=True)["d"]) not in private.err
    assert "JWK set" in add("no json").error()["message"]
    assert "not by both" in add(public_set(ec_key()), "--secret").error()["message"]
    missing = cli.run(
        "client", "add", "x", "--enterprise", "--jwks", str(tmp_path / "none"), "--json", "--tenant", tenant
    )
    assert missing.code == 2


def test_what_is_refused_says_what_to_do(cli: Home, tenant: str) -> None:
    for arguments, told in (
        (("x",), "--redirect-uri"),
        (("x", "--redirect-uri", "http://evil.example/"), "https://"),
        (("x", "--redirect-uri", URI, "--scope", "root"), "mcp:read"),
        (("", "--redirect-uri", URI), "name"),
        (("x", "--acts-as", "nobody@example.com"), "user"),
    ):
        refused = cli.run("client", "add", *arguments, "--tenant", tenant, "--json")
        assert refused.code in (2, 4)
        assert told in refused.error()["message"]
    assert cli.run("client", "list", "--tenant", tenant, "--json").json() == []


def test_issuers(cli: Home, tenant: str) -> None:
    def run(*arguments: str) -> Ended:
        return cli.run("issuer", *arguments, "--tenant", tenant)

    assert "issuer trust" in run("list").out
    keys = ("--jwks-uri", "https://idp.example.com/keys")
    assert run("trust", "https://idp.example.com", *keys).code == 0
    [listed] = run("list", "--json").json()
    assert (listed["issuer"], listed["jwks_uri"]) == ("https://idp.example.com", keys[1])
    assert "MCPIST_ALLOWED_PRIVATE_HOSTS" in run("trust", "https://x.example", "--jwks-uri", "http://10.0.0.1/").err
    assert run("trust", "idp", *keys).code == 2
    away = run("trust", "http://127.0.0.1:9", "--json")
    assert away.code == 7
    assert run("remove", "https://idp.example.com", "--json").json()["trusted"] is False
    assert run("remove", "https://idp.example.com").code == 4
