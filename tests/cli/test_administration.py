"""Tenants, users, roles, services and tokens, on a product that runs meanwhile."""

import json
import time
import urllib.error
import urllib.request

import pytest

from tests.cli.conftest import NUMBERS, Home, Product

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def status_of(product: Product, token: str) -> int:
    """How `/mcp` answers this token."""
    request = urllib.request.Request(
        product.ready["mcp_url"],
        json.dumps(LIST).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def becomes(product: Product, token: str, expected: int) -> None:
    """Within a second, as promised; the deadline leaves room for a loaded machine."""
    deadline = time.monotonic() + 5
    while (status := status_of(product, token)) != expected:
        assert time.monotonic() < deadline, status
        time.sleep(0.05)


def test_tenants(cli: Home) -> None:
    made = cli.run("tenant", "create", "acme", "--admin", "Ada@Acme.example", "--name", "Acme Ltd", "--json").json()
    assert made["slug"] == "acme"
    assert made["admin"] == "ada@acme.example"
    assert cli.run("tenant", "create", "acme", "--admin", "a@b.c", "--json").error()["code"] == "conflict"
    assert cli.run("tenant", "create", "acme", "--admin", "a@b.c").code == 5
    assert cli.run("tenant", "create", "Not a slug", "--admin", "a@b.c").code == 2
    assert cli.run("tenant", "create", "other", "--admin", "nobody").code == 2
    assert "other" not in {one["slug"] for one in cli.run("tenant", "list", "--json").json()}
    assert cli.run("tenant", "suspend", "acme").out == "acme is suspended.\n"
    assert cli.run("tenant", "record-arguments", "on", "--tenant", "acme").code == 0
    [acme] = [one for one in cli.run("tenant", "list", "--json").json() if one["slug"] == "acme"]
    assert (acme["status"], acme["record_arguments"], acme["name"]) == ("suspended", True, "Acme Ltd")
    assert cli.run("tenant", "resume", "acme").code == 0
    assert "acme" in cli.run("tenant", "list").out
    assert cli.run("tenant", "suspend", "nothing").code == 4


def test_a_user_is_removed(cli: Home, product: Product, tenant: str) -> None:
    here, other = ("--tenant", tenant), f"{tenant}-b"
    assert cli.run("tenant", "create", other, "--admin", "ada@example.com").code == 0
    for where in (tenant, other):
        assert cli.run("user", "create", "bob@example.com", "--tenant", where).code == 0
    tokens = {
        where: cli.run("token", "create", "--user", "bob@example.com", "--tenant", where, "--json").json()["token"]
        for where in (tenant, other)
    }
    assert [status_of(product, token) for token in tokens.values()] == [200, 200]
    confirmed = ("--confirm", "Bob@Example.com")
    assert cli.run("user", "remove", "bob@example.com", "--confirm", "ada@example.com", *here).code == 2
    assert status_of(product, tokens[tenant]) == 200
    done = cli.run("user", "remove", "bob@example.com", *confirmed, *here, "--json").json()
    assert done == {"email": "bob@example.com", "removed": True}
    becomes(product, tokens[tenant], 401)
    assert status_of(product, tokens[other]) == 200, "the person of the same address elsewhere stays"
    assert "bob@example.com" not in cli.run("user", "list", *here).out
    assert "bob@example.com" not in cli.run("allow", "list", *here).out, "or they could come back"
    assert cli.run("user", "remove", "bob@example.com", *confirmed, *here).code == 4
    [event] = cli.run("audit", "--kind", "user.removed", *here, "--json").json()["items"]
    assert event["detail"]["email"] == "bob@example.com"


def test_the_last_administrator_stays(cli: Home, tenant: str) -> None:
    here = ("--tenant", tenant)
    ada = ("user", "remove", "ada@example.com", "--confirm", "ada@example.com", *here)
    refused = cli.run(*ada, "--json").error()
    assert (refused["code"], "last active administrator" in refused["message"]) == ("conflict", True)
    assert cli.run("user", "create", "eve@example.com", "--admin", *here).code == 0
    assert cli.run(*ada).out == "Removed the user ada@example.com.\n"


def test_one_role_is_shown(cli: Home, tenant: str) -> None:
    here = ("--tenant", tenant)
    cli.run("role", "create", "reader", "--priority", "7", *here)
    cli.run("role", "allow", "reader", "knowledge_graph:read", *here)
    cli.run("role", "deny", "reader", "knowledge_graph.search", *here)
    for number in range(3):
        cli.run("user", "create", f"u{number}@example.com", "--role", "reader", *here)
    shown = cli.run("role", "show", "reader", *here, "--json").json()
    assert shown == {
        "name": "reader",
        "priority": 7,
        "allow": ["knowledge_graph:read"],
        "deny": ["knowledge_graph.search"],
        "members": ["u0@example.com", "u1@example.com", "u2@example.com"],
        "tool_exposure": None,
    }
    text = cli.run("role", "show", "reader", *here).out
    assert all(word in text for word in ("reader", "7", "knowledge_graph:read", "u2@example.com"))
    assert cli.run("role", "show", "nothing", *here).code == 4
    assert cli.run("role", "show", "reader", "--tenant", "default").code == 4


@pytest.fixture
def first_tenant(cli: Home) -> str:
    """A tenant that stands first in every list."""
    slug = f"0-{next(NUMBERS)}"
    assert cli.run("tenant", "create", slug, "--admin", "ada@example.com").code == 0
    return slug


@pytest.mark.usefixtures("tenant")
def test_several_tenants_have_to_be_told_apart(cli: Home, first_tenant: str) -> None:
    failed = cli.run("user", "list")
    assert failed.code == 2
    assert failed.out == ""
    assert "default" in failed.err
    assert first_tenant in failed.err
    assert "--tenant" in failed.err


@pytest.mark.usefixtures("tenant")
def test_a_tenant_for_all_commands(cli: Home, tenant: str) -> None:
    """With it, the commands that are printed and documented work as they stand there."""
    default = {"MCPIST_TENANT": tenant}
    assert [one["email"] for one in cli.run("user", "list", "--json", **default).json()] == ["ada@example.com"]
    for command in (
        ("call", "knowledge_graph", "read_graph"),
        ("schema",),
        ("token", "create", "--name", "my-client"),
        ("token", "list"),
        ("provider", "list"),
        ("service", "list"),
        ("credential", "list"),
        ("oauth-client", "list"),
        ("allow", "list"),
        ("audit",),
        ("role", "create", "made"),
        ("tenant", "record-arguments", "off"),
    ):
        done = cli.run(*command, **default)
        assert done.code == 0, (command, done.err)
        assert cli.run(*command).code == 2, command
    assert "made" in cli.run("role", "list", "--tenant", tenant).out
    assert "made" not in cli.run("role", "list", "--tenant", "default", **default).out, "what is named counts"


@pytest.mark.usefixtures("tenant")
def test_which_tenants_there_are(cli: Home, first_tenant: str) -> None:
    told = cli.run("user", "list").err
    assert all(one in told for one in ("default", first_tenant, "--tenant SLUG", "MCPIST_TENANT"))
    wrong = cli.run("user", "list", MCPIST_TENANT="mistyped")
    assert (wrong.code, all(one in wrong.err for one in ("MCPIST_TENANT", "mistyped", first_tenant))) == (4, True)
    named = cli.run("user", "list", "--tenant", "mistyped")
    assert (named.code, "MCPIST_TENANT" in named.err) == (4, False)
    assert cli.run("user", "list", MCPIST_TENANT="Not A Slug").code == 2


def test_printed_commands_name_the_tenant_that_was_named(cli: Home, tenant: str) -> None:
    made = cli.run("user", "create", "kim@example.com", "--tenant", tenant)
    assert f"mcpist user assign kim@example.com ROLE --tenant {tenant}" in made.out
    made = cli.run("role", "create", "printed", "--tenant", tenant)
    assert f"mcpist role allow printed PERMISSION --tenant {tenant}" in made.out


def test_users(cli: Home, tenant: str) -> None:
    cli.run("role", "create", "reader", "--tenant", tenant)
    cli.run("role", "create", "editor", "--priority", "5", "--tenant", tenant)
    made = cli.run(
        "user", "create", "Bob@example.com", "--role", "reader", "--role", "editor", "--tenant", tenant, "--json"
    ).json()
    assert (made["email"], made["roles"], made["system_role"]) == ("bob@example.com", ["editor", "reader"], "user")
    assert cli.run("user", "create", "bob@example.com", "--tenant", tenant).code == 5
    assert cli.run("user", "create", "eve@example.com", "--role", "nothing", "--tenant", tenant).code == 4
    assert cli.run("user", "unassign", "bob@example.com", "reader", "--tenant", tenant).code == 0
    assert cli.run("user", "suspend", "bob@example.com", "--tenant", tenant).code == 0
    users = {one["email"]: one for one in cli.run("user", "list", "--tenant", tenant, "--json").json()}
    assert users.keys() == {"ada@example.com", "bob@example.com"}
    assert (users["bob@example.com"]["status"], users["bob@example.com"]["roles"]) == ("suspended", ["editor"])
    assert cli.run("user", "resume", "bob@example.com", "--tenant", tenant).code == 0
    assert cli.run("user", "assign", "bob@example.com", "reader", "--tenant", tenant).code == 0
    assert cli.run("user", "assign", "nobody@example.com", "reader", "--tenant", tenant).code == 4
    assert cli.run("user", "create", "carl@example.com", "--admin", "--tenant", tenant, "--json").json()["roles"] == []


def test_roles(cli: Home, tenant: str) -> None:
    given = ("--tenant", tenant)
    assert cli.run("role", "create", "reader", "--priority", "7", *given, "--json").json()["priority"] == 7
    assert cli.run("role", "allow", "reader", "knowledge_graph:read", *given).err == ""
    assert cli.run("role", "allow", "reader", "knowledge_graph.create_entities", *given).err == ""
    assert cli.run("role", "deny", "reader", "knowledge_graph.read_graph", *given).code == 0
    assert cli.run("role", "revoke", "reader", "knowledge_graph.create_entities", *given).code == 0
    for exposure, shown in (("both", "both"), ("default", None), ("plain:lab", "plain:lab")):
        changed = cli.run("role", "change", "reader", "--tool-exposure", exposure, *given, "--json")
        assert changed.json()["tool_exposure"] == shown
    assert cli.run("role", "change", "reader", "--tool-exposure", "some", *given).code == 2
    [reader] = [one for one in cli.run("role", "list", *given, "--json").json() if one["name"] == "reader"]
    assert reader == {
        "name": "reader",
        "priority": 7,
        "allow": ["knowledge_graph:read"],
        "deny": ["knowledge_graph.read_graph"],
        "members": 0,
        "tool_exposure": "plain:lab",
    }
    assert cli.run("role", "allow", "reader", "not a permission", *given).code == 2
    assert cli.run("role", "revoke", "reader", "x.y", *given).code == 4
    assert cli.run("role", "delete", "reader", *given).code == 0
    assert cli.run("role", "delete", "reader", *given).code == 4


@pytest.mark.parametrize(
    ("permission", "told"),
    [
        ("knowledge_graf:read", "did you mean knowledge_graph?"),
        ("knowledge_graph.create_entitis", "did you mean create_entities?"),
    ],
)
def test_a_permission_that_matches_nothing_is_refused(cli: Home, tenant: str, permission: str, told: str) -> None:
    given = ("--tenant", tenant)
    cli.run("role", "create", "reader", *given)
    for effect in ("allow", "deny"):
        refused = cli.run("role", effect, "reader", permission, *given, "--json").error()
        assert (refused["code"], told in refused["message"]) == ("invalid", True)
        assert "--allow-unknown" in refused["message"]
    assert cli.run("role", "show", "reader", *given, "--json").json()["allow"] == []
    meant = cli.run("role", "allow", "reader", permission, "--allow-unknown", *given)
    assert (meant.code, meant.err) == (0, "")
    assert cli.run("role", "show", "reader", *given, "--json").json()["allow"] == [permission]
    assert cli.run("role", "revoke", "reader", permission, *given).code == 0


def test_services(cli: Home, tenant: str) -> None:
    assert cli.run("service", "disable", "knowledge_graph", "--tenant", tenant).out == "knowledge_graph is off.\n"
    listed = cli.run("service", "list", "--tenant", tenant, "--json").json()
    services = {one["module"]: (one["enabled"], one["installed"]) for one in listed}
    assert (services["github"], services["knowledge_graph"]) == ((True, True), (False, True))
    assert cli.run("service", "enable", "knowledge_graph", "--tenant", tenant).code == 0
    failed = cli.run("service", "enable", "knowlege_graph", "--tenant", tenant, "--json")
    assert failed.code == 4
    assert "did you mean knowledge_graph?" in failed.error()["message"]


def test_a_token_works_until_it_is_revoked(cli: Home, product: Product, tenant: str) -> None:
    given = ("--tenant", tenant)
    made = cli.run("token", "create", "--user", "ada@example.com", "--expires", "30d", *given, "--json").json()
    assert status_of(product, made["token"]) == 200
    [listed] = cli.run("token", "list", *given, "--json").json()
    assert listed["id"] == made["id"]
    assert made["token"] not in json.dumps(listed)
    assert cli.run("token", "revoke", made["id"], *given).code == 0
    becomes(product, made["token"], 401)
    assert cli.run("token", "list", *given, "--json").json() == []
    assert len(cli.run("token", "list", "--all", *given, "--json").json()) == 1
    assert cli.run("token", "revoke", made["id"], *given).code == 4


def test_a_token_alone_on_standard_output(cli: Home, tenant: str) -> None:
    made = cli.run("token", "create", "--read-only", "--scope", "mcp:read", "--tenant", tenant)
    assert made.out.startswith("mcpist_")
    assert made.out.count("\n") == 1
    assert "ada@example.com" in made.err
    assert made.out.strip() not in made.err
    [listed] = cli.run("token", "list", "--tenant", tenant, "--json").json()
    assert (listed["read_only"], listed["scopes"]) == (True, ["mcp:read"])


@pytest.mark.parametrize(
    "more", [("--expires", "soon"), ("--expires", "2001-01-01"), ("--scope", "root"), ("--name", "")]
)
def test_wrong_tokens_are_not_made(cli: Home, tenant: str, more: tuple[str, ...]) -> None:
    assert cli.run("token", "create", *more, "--tenant", tenant).code == 2
    assert cli.run("token", "list", "--all", "--tenant", tenant, "--json").json() == []


def test_a_whole_token_is_not_taken_from_the_command_line(cli: Home, tenant: str) -> None:
    made = cli.run("token", "create", "--tenant", tenant, "--json").json()
    failed = cli.run("token", "revoke", made["token"], "--tenant", tenant)
    assert failed.code == 2
    assert made["id"] in failed.err
    assert made["token"] not in failed.err


def test_a_user_has_to_be_named_where_there_is_no_single_administrator(cli: Home, tenant: str) -> None:
    cli.run("user", "create", "bob@example.com", "--admin", "--tenant", tenant)
    failed = cli.run("token", "create", "--tenant", tenant)
    assert failed.code == 2
    assert "ada@example.com, bob@example.com" in failed.err
    assert "--user" in failed.err


def test_suspension_takes_the_token_with_it(cli: Home, product: Product, tenant: str) -> None:
    made = cli.run("token", "create", "--tenant", tenant, "--json").json()
    assert status_of(product, made["token"]) == 200
    refused = cli.run("user", "suspend", "ada@example.com", "--tenant", tenant)
    assert (refused.code, "last active administrator" in refused.err) == (5, True)
    cli.run("user", "create", "bob@example.com", "--admin", "--tenant", tenant)
    cli.run("user", "suspend", "ada@example.com", "--tenant", tenant)
    becomes(product, made["token"], 401)
    cli.run("user", "resume", "ada@example.com", "--tenant", tenant)
    becomes(product, made["token"], 200)
    assert cli.run("tenant", "suspend", tenant).code == 0
    becomes(product, made["token"], 401)
