"""Commands for what the console shows: grants, connections, tools, exports; on the data folder and at a server."""

import csv
import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Home
from tests.cli.test_at_a_server import ADMIN, Both, both  # noqa: F401 a fixture

USER = "changed@acme.example"


def test_changes_of_people_roles_and_tenants(cli: Home, tenant: str) -> None:
    there = ("--tenant", tenant, "--json")
    cli.run("user", "create", USER, *there)
    changed = cli.run("user", "change", USER, "--name", "Some Body", "--system-role", "admin", *there).json()
    assert (changed["name"], changed["system_role"]) == ("Some Body", "admin")
    assert cli.run("user", "change", USER, "--system-role", "user", *there).json()["name"] == "Some Body"
    assert cli.run("user", "change", "ada@example.com", "--system-role", "user", *there).code == 5, "the last one"
    assert cli.run("user", "change", USER, *there).code == 2
    cli.run("role", "create", "reader", *there)
    cli.run("role", "allow", "reader", "knowledge_graph:read", *there)
    cli.run("user", "assign", USER, "reader", *there)
    assert cli.run("role", "change", "reader", "--name", "readers", "--priority", "7", *there).json() == {
        "name": "readers",
        "priority": 7,
        "tool_exposure": None,
    }
    assert cli.run("role", "change", "reader", "--priority", "8", *there).code == 4
    assert [one["name"] for one in cli.run("role", "list", *there).json() if one["priority"] == 7] == ["readers"]
    view = cli.run("user", "see-as", USER, *there).json()
    assert view == cli.run("role", "see-as", "readers", *there).json()
    assert "read_graph" in view["modules"][0]["tools"]
    done = cli.run("tenant", "change", "--name", "Acme Ltd", "--max-token-lifetime", "30", *there).json()
    assert done == {"slug": tenant, "name": "Acme Ltd", "max_token_lifetime_days": 30}
    (listed,) = [one for one in cli.run("tenant", "list", "--json").json() if one["slug"] == tenant]
    assert (listed["name"], listed["max_token_lifetime_days"]) == ("Acme Ltd", 30)
    cli.run("tenant", "change", "--max-token-lifetime", "none", *there)
    (listed,) = [one for one in cli.run("tenant", "list", "--json").json() if one["slug"] == tenant]
    assert listed["max_token_lifetime_days"] is None
    assert cli.run("tenant", "change", "--max-token-lifetime", "many", *there).code == 2


def test_grants_and_connections(both: Both) -> None:  # noqa: F811
    grants = both.at_the_server("grant", "list").json()
    assert {grant["user_email"] for grant in grants} == {ADMIN}, "logins of the command line"
    assert both.documents("grant", "list", "--all") == both.locally("grant", "list").json()
    assert both.locally("grant", "list", "--user", ADMIN, "--all").code == 2
    assert both.locally("connection", "list", "--user", ADMIN).json() == both.at_the_server("connection", "list").json()
    assert both.locally("connection", "count").json() == both.at_the_server("connection", "count").json() == []
    assert both.at_the_server("grant", "revoke", "0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10").code == 4
    assert both.at_the_server("grant", "revoke", "none").code == 2


def test_tools_and_identities_of_the_person(both: Both) -> None:  # noqa: F811
    modules = {one["module"]: one for one in both.at_the_server("tool", "modules").json()}
    assert modules["knowledge_graph"]["tool_count"] > 0
    tools = both.at_the_server("tool", "list", "knowledge_graph", "--search", "read").json()
    assert "read_graph" in [one["name"] for one in tools]
    assert both.at_the_server("tool", "show", "knowledge_graph", "read_graph").json()["parameters"]["type"] == "object"
    assert both.at_the_server("tool", "show", "knowledge_graph", "none").code == 4
    every = both.documents("tool", "all", "--module", "knowledge_graph")
    assert {one["name"] for one in every} >= {one["name"] for one in tools}
    resources = both.documents("tool", "all", "--module", "knowledge_graph", "--kind", "resource")
    assert resources == [one for one in every if one["kind"] == "resource"]
    words = ("tool", "list", "knowledge_graph", "--kind")
    assert {one["name"] for one in both.at_the_server(*words, "resource").json()} == {"entity", "graph"}
    assert both.at_the_server(*words, "prompt").json() == []
    assert both.at_the_server(*words, "prom").code == 2
    assert "entity" in (table := both.there.run(*words, "resource", MCPIST_SERVER=both.url).out)
    assert "Kind" in table
    assert both.at_the_server("identity", "list").json() == []
    assert both.at_the_server("identity", "unlink", "0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10").code in (1, 3, 4)
    for words in (("modules",), ("list", "knowledge_graph"), ("show", "knowledge_graph", "read_graph")):
        assert both.there.run("tool", *words, MCPIST_SERVER=both.url).code == 0


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_of_the_audit_log(both: Both, tmp_path: Path, form: str) -> None:  # noqa: F811
    both.at_the_server("role", "create", f"exported-{form}")
    for run in (both.locally, both.at_the_server):
        file = tmp_path / f"{run.__name__}.{form}"
        words = ("audit", "export", str(file), "--form", form, "--kind", "role.created", "--user", ADMIN)
        assert run(*words).json()["bytes"] == file.stat().st_size
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        text = file.read_text("utf-8-sig")
        rows = list(csv.DictReader(text.splitlines())) if form == "csv" else [*map(json.loads, text.splitlines())]
        assert f"exported-{form}" in str(rows[0]["detail"])
        assert {row["kind"] for row in rows} == {"role.created"}
        assert run(*words).code == 5
        assert run(*words, "--force").code == 0
        assert [path.name for path in tmp_path.glob("*.part")] == []


def test_the_chain_of_the_log(both: Both, cli: Home, tenant: str) -> None:  # noqa: F811
    (there,) = both.at_the_server("audit", "verify").json()
    assert (there["tenant"], there["ok"], there["problem"]) == ("default", True, "")
    assert there["checked"] > 0
    assert both.at_the_server("audit", "verify", "--anchors", "anchors.json").code == 2
    assert tenant not in str(there)
    kept = both.documents("audit", "retention")
    assert (kept["keep_months"], kept["oldest_at"] is not None) == (None, True)
    assert tenant in cli.run("audit", "verify").out
