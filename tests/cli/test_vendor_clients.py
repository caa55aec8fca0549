"""OAuth apps at vendors at the command line: a secret goes in and never comes out."""

from pathlib import Path

import pytest

from tests.cli.conftest import Home

SECRET = "made-up-client-secret-of-a-vendor"


@pytest.fixture
def secret(tmp_path: Path) -> str:
    """A file with it."""
    file = tmp_path / "secret.txt"
    file.touch(mode=0o600)
    file.write_text(SECRET + "\n")
    return str(file)


def test_an_oauth_app_from_set_to_removed(cli: Home, tenant: str, secret: str) -> None:
    there = ("--tenant", tenant)
    providers = {one["id"]: one for one in cli.run("provider", "list", "--json", *there).json()}
    assert providers["google"]["redirect_uri"].endswith("/connect/callback/google")
    assert "oauth-client set" in cli.run("oauth-client", "list", *there).out
    asked = ("oauth-client", "set", "google", "--client-id", "id-of-google", "--from-file", secret)
    made = cli.run(*asked, *there)
    assert made.code == 0, made.err
    assert providers["google"]["redirect_uri"] in made.out
    [listed] = cli.run("oauth-client", "list", "--json", *there).json()
    assert (listed["provider"], listed["client_id"], listed["has_secret"]) == ("google", "id-of-google", True)
    audit = cli.run("audit", "--json", *there)
    for told in (made.out, made.err, cli.run("oauth-client", "list", *there).out, audit.out):
        assert SECRET not in told
    assert cli.run("oauth-client", "test", "notion", *there).code == 4, "there is none to test"
    assert cli.run("oauth-client", "remove", "google", *there).code == 0
    assert cli.run("oauth-client", "remove", "google", *there).code == 4


def test_what_is_wrong_is_told_and_not_stored(cli: Home, tenant: str, secret: str) -> None:
    def refused(*arguments: str) -> int:
        return cli.run("oauth-client", "set", *arguments, "--tenant", tenant).code

    assert refused("never_there", "--client-id", "x", "--from-file", secret) == 4
    assert refused("google", "--client-id", "x", "--from-file", secret, "--role", "never there") == 4
    assert refused("google", "--client-id", "x", "--from-file", secret, "--setting", "made_up=1") == 2
    assert refused("google", "--client-id", "x", "--no-secret") == 2
    assert refused("google", "--client-id", "x", SECRET) == 2
    assert cli.run("oauth-client", "list", "--json", "--tenant", tenant).json() == []
