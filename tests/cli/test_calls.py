"""`mcpist call`, `schema` and `audit`: the operator as a user, and what the log says of it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.catalogue import load_installed_modules
from tests.cli.conftest import Home

ADA = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}


def call(cli: Home, tenant: str, tool: str, params: object = None, *more: str) -> list[str]:
    return ["call", "knowledge_graph", tool, "--params", json.dumps(params or {}), "--tenant", tenant, *more]


def events(cli: Home, tenant: str, *filters: str) -> list[dict[str, object]]:
    return cli.run("audit", *filters, "--tenant", tenant, "--json").json()["items"]


def test_call(cli: Home, tenant: str) -> None:
    assert cli.run(*call(cli, tenant, "create_entities", ADA), "--json").json()["created"] == 1
    shown = cli.run(*call(cli, tenant, "kg_get_nodes", {"names": ["Ada"]}))
    assert json.loads(shown.out)["entities"][0]["observations"] == ["likes tea"]
    assert shown.out.count("\n") > 5
    [read, written] = events(cli, tenant, "--kind", "call")
    assert (written["tool"], written["outcome"], written["user"]) == ("create_entities", "ok", "ada@example.com")
    assert (read["tool"], read["client"], read["credential_id"]) == ("get_nodes", "mcpist call", "operator")
    assert read["arguments"] is None


def test_arguments_are_recorded_where_the_tenant_wants_it(cli: Home, tenant: str) -> None:
    cli.run("tenant", "record-arguments", "on", "--tenant", tenant)
    cli.run(*call(cli, tenant, "create_entities", ADA))
    [written] = events(cli, tenant, "--kind", "call")
    assert json.loads(str(written["arguments"])) == ADA


def test_params_from_a_file_and_from_standard_input(cli: Home, tenant: str, tmp_path: Path) -> None:
    file = tmp_path / "params.json"
    file.write_text(json.dumps(ADA))
    given = ("call", "knowledge_graph", "create_entities", "--tenant", tenant, "--json")
    assert cli.run(*given, "--params", f"@{file}").json()["created"] == 1
    assert json.loads(cli.process(*given, "--params", "-", given=file.read_bytes()).out)["updated"] == 1
    assert cli.run(*given, "--params", "@/no/such/file").code == 2
    assert cli.run(*given, "--params", "{").code == 2
    assert cli.run(*given, "--params", "[]").code == 2


def test_a_wrong_argument_is_named(cli: Home, tenant: str) -> None:
    failed = cli.run(*call(cli, tenant, "create_entities", {"entites": []}), "--json")
    assert failed.code == 1
    assert failed.error()["code"] == "tool_error"
    assert "did you mean entities?" in failed.error()["message"]


def test_what_a_user_may_not_use_does_not_exist(cli: Home, tenant: str) -> None:
    cli.run("role", "create", "reader", "--tenant", tenant)
    cli.run("role", "allow", "reader", "knowledge_graph.search", "--tenant", tenant)
    cli.run("user", "create", "bob@example.com", "--role", "reader", "--tenant", tenant)
    bob = ("--user", "bob@example.com")
    hidden = cli.run(*call(cli, tenant, "create_entities", ADA, *bob))
    made_up = cli.run(*call(cli, tenant, "no_such_tool", ADA, *bob))
    assert (hidden.code, hidden.err) == (4, made_up.err)
    schema = cli.run("schema", "knowledge_graph", "--tenant", tenant, *bob, "--json").json()
    assert [tool["name"] for tool in schema["modules"][0]["tools"]] == ["search"]
    assert {one["tool"] for one in events(cli, tenant, "--outcome", "denied")} == {"create_entities", "no_such_tool"}


def test_schema(cli: Home, tenant: str) -> None:
    modules = cli.run("schema", "--tenant", tenant, "--json").json()["modules"]
    assert [one["module"] for one in modules] == [one.name for one in load_installed_modules().modules]
    assert cli.run("schema", "no_such_module", "--tenant", tenant).code == 4


def test_audit_pages_and_filters(cli: Home, tenant: str) -> None:
    cli.run("user", "create", "bob@example.com", "--tenant", tenant)
    everything = events(cli, tenant)
    assert everything[0]["kind"] == "user.created"
    first = cli.run("audit", "--limit", "2", "--tenant", tenant, "--json").json()
    rest = cli.run("audit", "--cursor", first["next_cursor"], "--tenant", tenant, "--json").json()
    assert first["items"] + rest["items"] == everything
    assert rest["next_cursor"] is None
    assert {one["kind"] for one in events(cli, tenant, "--kind", "user")} == {"user.created"}
    assert events(cli, tenant, "--until", "1h") == []
    assert events(cli, tenant, "--since", "1h") == everything
    assert events(cli, tenant, "--user", "bob@example.com") == []
    assert "operator" in cli.run("audit", "--tenant", tenant).out
    assert cli.run("audit", "--cursor", "rubbish", "--tenant", tenant).code == 2
    assert cli.run("audit", "--limit", "0", "--tenant", tenant).code == 2
    assert cli.run("audit", "--user", "nobody@example.com", "--tenant", tenant).code == 4


def test_what_a_stranger_writes_does_not_steer_the_terminal(cli: Home, tenant: str) -> None:
    cli.run("call", "knowledge_graph", "\x1b[2Jnasty", "--tenant", tenant)
    shown = cli.run("audit", "--outcome", "denied", "--tenant", tenant)
    assert "nasty" in shown.out
    assert "\x1b" not in shown.out


def test_verify_and_anchors(cli: Home, tenant: str, tmp_path: Path) -> None:
    [own] = cli.run("audit", "verify", "--tenant", tenant, "--json").json()
    assert own["ok"]
    assert own["checked"] == own["head"]["seq"] > 0
    anchors = cli.run("audit", "anchors", "--json").json()
    assert tenant in {one["tenant"] for one in anchors}
    file = tmp_path / "anchors.json"
    file.write_text(json.dumps(anchors))
    cli.run("user", "create", "bob@example.com", "--tenant", tenant)
    assert cli.run("audit", "verify", "--anchors", str(file)).code == 0
    file.write_text(json.dumps([{**one, "hash": "00" * 32} for one in anchors]))
    failed = cli.run("audit", "verify", "--anchors", str(file), "--tenant", tenant)
    assert failed.code == 1
    assert "anchor" in failed.out
    file.write_text("{}nonsense")
    assert cli.run("audit", "verify", "--anchors", str(file)).code == 2


def test_old_months_are_dropped(cli: Home, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as long_ago:
        long_ago.setattr("server.role_database.get_utc_now", lambda: datetime(2001, 5, 5, tzinfo=UTC))
        assert cli.run("audit", "anchors").code == 0  # it seals, and so makes the months of its time
    assert cli.run("audit", "drop", "--keep-months", "0").code == 2
    assert cli.run("audit", "drop", "--keep-months", "1200").out == "Nothing is older.\n"
    assert cli.run("audit", "drop", "--keep-months", "12", "--json").json() == {
        "dropped_months": ["2001-05", "2001-06"]
    }
    assert cli.run("audit", "verify").code == 0
    shown = cli.run("audit", "--deployment", "--kind", "audit.dropped", "--json").json()["items"]
    assert shown[0]["detail"] == {"months": 12, "partitions": 2, "newest": "events_2001_06"}
    assert shown[0]["actor"] == "operator"


@pytest.mark.parametrize("command", [("call", "knowledge_graph", "read_graph"), ("schema",)])
def test_a_suspended_user_can_do_nothing(cli: Home, tenant: str, command: tuple[str, ...]) -> None:
    cli.run("user", "create", "bob@example.com", "--admin", "--tenant", tenant)
    assert cli.run("user", "suspend", "ada@example.com", "--tenant", tenant).code == 0
    failed = cli.run(*command, "--user", "ada@example.com", "--tenant", tenant)
    assert failed.code == 2
    assert "suspended" in failed.err
