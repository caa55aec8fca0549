"""What concerns the whole deployment at the command line: a tenant's end, and the deployment's own log."""

import pytest

from tests.cli.conftest import Home


def test_a_tenant_is_removed_by_name_and_the_log_tells_of_it(cli: Home) -> None:
    for slug in ("doomed", "spared"):
        assert cli.run("tenant", "create", slug, "--admin", f"ada@{slug}.example").code == 0
    ends = cli.run("tenant", "contents", "doomed", "--json").json()
    assert (ends["users"], ends["roles"], ends["accounts"]) == (1, 1, 0)
    asked = ("tenant", "remove", "doomed", "--json")
    wrong = cli.run(*asked, "--confirm", "spared")
    assert (wrong.code, "repeat its slug" in wrong.error()["message"]) == (2, True)
    assert cli.run(*asked, "--confirm", "doomed").json() == {"slug": "doomed", "removed": True}
    assert cli.run(*asked, "--confirm", "doomed").code == 4
    left = {one["slug"] for one in cli.run("tenant", "list", "--json").json()}
    assert "doomed" not in left
    assert "spared" in left
    told = cli.run("audit", "--deployment", "--kind", "tenant", "--json").json()["items"]
    assert (told[0]["kind"], told[0]["detail"]["slug"], told[0]["actor"]) == ("tenant.removed", "doomed", "operator")


@pytest.mark.usefixtures("new_keys")
def test_the_deployment_s_log_shows_its_keys_and_no_tenant_s_events(cli: Home) -> None:
    kid = cli.run("keys", "signing", "rotate", "--compromised", "--json").json()["signing"]
    found = cli.run("audit", "--deployment", "--json").json()["items"]
    assert kid in [one["detail"].get("key") for one in found if one["kind"] == "key.rotated"]
    assert not [one for one in found if one["kind"].startswith(("user", "role", "token"))]
    assert "key.rotated" in cli.run("audit", "--deployment", "--limit", "5").out
    refused = cli.run("audit", "--deployment", "--tenant", "default")
    assert refused.code == 2


def test_without_a_terminal_a_missing_confirmation_removes_nothing(cli: Home) -> None:
    assert cli.run("tenant", "create", "kept", "--admin", "ada@kept.example").code == 0
    assert cli.process("tenant", "remove", "kept").code != 0
    assert "kept" in {one["slug"] for one in cli.run("tenant", "list", "--json").json()}
