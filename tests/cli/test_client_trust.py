"""The deployment's trust in clients at the command line."""

from tests.cli.conftest import Home


def test_trust_is_shown_set_and_reset(cli: Home) -> None:
    assert cli.run("client-trust", "show", "--json").json()["source"] == "default"
    chosen = cli.run("client-trust", "set", "--host", "claude.ai", "--registration", "--json").json()
    assert (chosen["client_metadata_hosts"], chosen["dynamic_registration"]) == (["claude.ai"], True)
    assert "claude.ai" in cli.run("client-trust", "show").out
    assert cli.run("client-trust", "set", "--host", "https://claude.ai").code == 2
    assert cli.run("client-trust", "reset").code == 0
    assert cli.run("client-trust", "reset").code == 4
