"""Which alerts go out and to whom, at the command line."""

from tests.cli.conftest import Home


def test_settings_and_choices(cli: Home, tenant: str) -> None:
    there = ("--tenant", tenant)
    assert cli.run("user", "create", "alerts@acme.example", *there).code == 0
    stored = cli.run(
        "notification", "set", "credential", "--no-mail", "--address", "ops@acme.example", "--json", *there
    )
    assert stored.json()["addresses"] == ["ops@acme.example"]
    listed = {one["alert"]: one for one in cli.run("notification", "list", "--json", *there).json()}
    assert (listed["credential"]["mail"], listed["account"]["mail"]) == (False, True)
    whose = ("--user", "alerts@acme.example", *there)
    assert cli.run("notification", "prefer", "account", "--no-mail", *whose).code == 0
    chosen = {one["alert"]: one["mail"] for one in cli.run("notification", "preferences", "--json", *whose).json()}
    assert (chosen["account"], chosen["credential"]) == (False, True)
    assert cli.run("notification", "set", "made_up", *there).code == 2
