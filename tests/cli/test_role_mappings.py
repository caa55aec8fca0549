"""Roles by groups and domains at the command line."""

from tests.cli.conftest import Home


def test_mappings_from_added_to_removed(cli: Home, tenant: str) -> None:
    there = ("--tenant", tenant)
    assert cli.run("role", "create", "mapped", *there).code == 0
    by_group = cli.run("role-mapping", "add", "mapped", "--provider", "acme", "--group", "Eng JP", "--json", *there)
    assert by_group.json()["value"] == "Eng JP"
    assert cli.run("role-mapping", "add", "mapped", "--domain", "@Acme.example", *there).code == 0
    listed = cli.run("role-mapping", "list", "--json", *there).json()
    assert [(one["kind"], one["value"], one["role"]) for one in listed] == [
        ("group", "Eng JP", "mapped"),
        ("domain", "acme.example", "mapped"),
    ]
    assert cli.run("role-mapping", "add", "mapped", *there).code == 2
    assert cli.run("role-mapping", "add", "mapped", "--group", "no provider", *there).code == 2
    assert cli.run("role-mapping", "add", "never-there", "--domain", "acme.example", *there).code == 4
    assert cli.run("role-mapping", "remove", listed[0]["id"], *there).code == 0
    assert cli.run("role-mapping", "remove", listed[0]["id"], *there).code == 4
