"""Senders of notifications at the command line, with a trial mail at a real server."""

from tests.cli.conftest import Home
from tests.support.mail_server import mail_server


def test_a_mail_server_from_tried_to_removed(cli: Home) -> None:
    with mail_server() as post:
        asked = ["notification-sender", "set-mail", "127.0.0.1", "--port", str(post.port), "--security", "none"]
        asked += ["--sender", "MCPist <mcpist@acme.example>", "--recipient", "ops@acme.example"]
        refused = cli.run(*asked)
        assert refused.code == 2, refused.out
        assert "MCPIST_ALLOWED_PRIVATE_HOSTS" in refused.err
        stored = cli.run(*asked, "--despite-failures", "--json")
        assert stored.json()["sender"]["server"] == "127.0.0.1"
    [listed] = cli.run("notification-sender", "list", "--json").json()
    assert (listed["kind"], listed["source"]) == ("mail", "database")
    assert "127.0.0.1" in cli.run("notification-sender", "list").out
    assert cli.run("notification-sender", "remove", "mail").code == 0
    assert cli.run("notification-sender", "remove", "mail").code == 4
    assert cli.run("notification-sender", "set-webhook", "https://localhost/", "whsec_on-the-command-line").code == 2
