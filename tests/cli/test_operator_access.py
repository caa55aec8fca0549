"""Operator's way to the admin API: for commands of this machine, while the product runs, and for nobody else."""

import json
import stat
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.cli.conftest import Home, Product, running


def read_endpoint(home: Home) -> dict[str, Any]:
    return json.loads((home.path / "endpoint.json").read_text())


def status(home: Home, path: str, method: str = "GET", body: Any = None, **headers: str) -> int:
    """How the product answers the operator's credential with these headers."""
    said = read_endpoint(home)
    sent = {"Authorization": f"Bearer {said['operator_token']}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        sent["Content-Type"] = "application/json"
    request = urllib.request.Request(said["operator_url"] + path, data, sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_file_is_private_and_its_credential_is_for_the_admin_api(cli: Home) -> None:
    assert stat.S_IMODE((cli.path / "endpoint.json").stat().st_mode) == 0o600
    assert status(cli, "/api/v1/tenants") == 200
    assert status(cli, "/api/v1/roles", Mcpist_Tenant="default") == 200
    assert status(cli, "/api/v1/roles", Mcpist_Tenant="nothing") == 404
    assert status(cli, "/api/v1/roles") == 403, "no tenant is named"
    assert status(cli, "/mcp", "POST") in (400, 401)


@pytest.mark.parametrize(
    "header",
    [
        {"X_Forwarded_For": "127.0.0.1"},
        {"X_Real_IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"Origin": "http://127.0.0.1"},
        {"Authorization": "Bearer mcpist_wrong"},
        {"Authorization": ""},
    ],
)
def test_a_proxy_a_browser_or_another_credential_is_refused(cli: Home, header: dict[str, str]) -> None:
    assert status(cli, "/api/v1/tenants", **header) in (401, 403)


def test_no_route_of_a_person_takes_it_and_a_credential_has_an_owner(cli: Home, tenant: str) -> None:
    assert status(cli, "/api/v1/me", Mcpist_Tenant="default") == 403
    asked = {"name": "of the operator", "scopes": ["mcp:read"]}
    users = cli.run("user", "list", "--tenant", "default", "--json").json()
    owner = next(one["id"] for one in users if one["email"] == "admin@localhost")
    assert status(cli, "/api/v1/tokens", "POST", asked, Mcpist_Tenant="default") == 400, "no user is named"
    assert status(cli, "/api/v1/tokens", "POST", asked | {"user_id": owner}, Mcpist_Tenant=tenant) == 404
    assert status(cli, "/api/v1/tokens", "POST", asked | {"user_id": owner}) == 404, "no tenant is named"
    assert status(cli, "/api/v1/tokens", "POST", asked | {"user_id": owner}, Mcpist_Tenant="default") == 201
    beyond = asked | {"user_id": owner, "scopes": ["everything"]}
    assert status(cli, "/api/v1/tokens", "POST", beyond, Mcpist_Tenant="default") == 400


def test_nobody_else_names_a_tenant(cli: Home, product: Product, tenant: str) -> None:
    bearer = f"Bearer {product.ready['api_token']}"
    assert status(cli, "/api/v1/me", Authorization=bearer) == 200
    assert status(cli, "/api/v1/me", Authorization=bearer, Mcpist_Tenant=tenant) == 403


def test_the_audit_log_names_the_operator_however_the_command_reached_the_api(fresh: Home) -> None:
    with running(fresh) as product:
        first = read_endpoint(fresh)["operator_token"]
        assert fresh.run("role", "create", "online").code == 0
        ended = product.stop()
    assert first not in ended.err
    assert not (fresh.path / "endpoint.json").exists()
    assert fresh.run("role", "create", "offline", "--json").code == 0
    assert {one["name"] for one in fresh.run("role", "list", "--json").json()} >= {"online", "offline"}
    events = fresh.run("audit", "--kind", "role.created", "--limit", "2", "--json").json()["items"]
    assert [(one["detail"]["role"], one["actor"]) for one in events] == [
        ("offline", "operator"),
        ("online", "operator"),
    ]
    with running(fresh):
        assert read_endpoint(fresh)["operator_token"] != first


def test_a_product_with_a_public_name_announces_no_way_in(fresh: Home) -> None:
    home = Home(fresh.path, fresh.port, {"MCPIST_PUBLIC_URL": "https://mcp.example.com"})
    with running(home):
        assert "operator_token" not in read_endpoint(home)
        assert home.run("role", "create", "reader").code == 0, "the same API in the command's own process"
        link = fresh.run("user", "link", "admin@localhost", "--json").json()["sign_in_link"]
        assert link.startswith("https://mcp.example.com/sign-in/link?code="), "though this shell does not name it"
        listed = fresh.run("provider", "list", "--json").json()  # by a shell that does not know the public name
        uris = [one["redirect_uri"] for one in listed if one["redirect_uri"]]
        assert uris
        assert all(uri.startswith("https://mcp.example.com/") for uri in uris)


def test_without_a_product_the_same_commands_administer_identity(fresh: Home) -> None:
    with running(fresh):
        pass
    made = fresh.run("token", "create", "--name", "offline", "--json").json()
    assert made["user"] == "admin@localhost", "the only administrator"
    assert made["id"] in [one["id"] for one in fresh.run("token", "list", "--json").json()]
    assert fresh.run("token", "revoke", made["id"]).code == 0
    assert fresh.run("session", "list", "--json").json() == []
    keys = ("--jwks-uri", "https://idp.example/keys")
    assert fresh.run("issuer", "trust", "https://idp.example", *keys).code == 0
    assert [one["issuer"] for one in fresh.run("issuer", "list", "--json").json()] == ["https://idp.example"]
    added = fresh.run("client", "add", "App", "--redirect-uri", "https://a.example/", "--scope", "mcp:read", "--json")
    assert added.json()["scopes"] == ["mcp:read"]
    assert fresh.run("user", "create", "second@acme.example", "--admin").code == 0
    for command in (("token", "create"), ("session", "list")):
        refused = fresh.run(*command, "--json")
        assert (refused.code, "--user EMAIL" in refused.error()["message"]) == (2, True)
    assert fresh.run("user", "suspend", "second@acme.example").code == 0
    for command in (("token", "create", "--user"), ("session", "list", "--user"), ("user", "link")):
        refused = fresh.run(*command, "second@acme.example", "--json")
        assert (refused.code, "suspended" in refused.error()["message"]) == (2, True)
