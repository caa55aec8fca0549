"""Identity providers at the command line: the secret goes in and never comes out."""

from pathlib import Path

from tests.cli.conftest import Home

SECRET = "made-up-secret-of-an-identity-provider"


def test_a_provider_from_tried_to_removed(cli: Home, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.touch(mode=0o600)
    file.write_text(SECRET + "\n")
    asked = ["identity-provider", "set", "acme", "--kind", "oidc", "--issuer", "https://localhost"]
    asked += ["--client-id", "mcpist", "--from-file", str(file)]
    tried = cli.run(*asked, "--try")
    assert tried.code == 0, tried.err
    assert "may not be reached" in tried.out
    assert "Nothing was stored" in tried.out
    refused = cli.run(*asked)
    assert refused.code == 2
    assert "may not be reached" in refused.err
    stored = cli.run(*asked, "--despite-failures", "--json")
    assert stored.json()["provider"]["redirect_uri"].endswith("/sign-in/callback/acme")
    [listed] = cli.run("identity-provider", "list", "--json").json()
    assert (listed["id"], listed["source"], listed["in_use"]) == ("acme", "database", True)
    kept = cli.run(*asked[:-2], "--keep-secret", "--label", "Acme", "--despite-failures")
    assert kept.code == 0, kept.err
    assert "acme" in cli.run("identity-provider", "list").out
    for told in (tried, refused, stored, kept, cli.run("identity-provider", "list")):
        assert SECRET not in told.out + told.err
    assert cli.run("identity-provider", "remove", "acme").code == 0
    assert cli.run("identity-provider", "remove", "acme").code == 4
