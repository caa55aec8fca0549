"""Credentials at the command line: tested at the vendor, stored, listed, found broken, removed; and never shown."""

import base64
import io
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from broker.web.i18n import Translations
from tests.cli.conftest import LONG, ROOT, Ended, Home
from tests.cli.hub import HubServer, hub_installed, hub_server

CANARY = "canary-9b1f03"
ADA = ("--user", "ada@example.com")
TEAM = ("--role", "team")


@dataclass(slots=True)
class CredentialsApp:
    """Whoever administers one tenant. Everything that is printed is searched for the canary."""

    cli: Home
    tenant: str
    hub: HubServer

    def run(self, *arguments: str, secret: str | bytes = b"", **more: str) -> Ended:
        given = io.TextIOWrapper(io.BytesIO(secret.encode() if isinstance(secret, str) else secret))
        more = {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{self.hub.port}", **more}
        with mock.patch.object(sys, "stdin", given):
            ended = self.cli.run(*arguments, "--tenant", self.tenant, **more)
        return self.searched(ended)

    def searched(self, ended: Ended) -> Ended:
        assert CANARY not in ended.out + ended.err
        return ended

    def set(self, *more: str, secret: str = f"{CANARY}-ada", module: str = "hub") -> Ended:
        return self.run("credential", "set", module, *more, secret=secret)

    def listed(self, *more: str) -> list[dict[str, object]]:
        return self.run("credential", "list", *more, "--json").json()

    def events(self, kind: str) -> list[dict[str, object]]:
        return self.run("audit", "--kind", kind, "--json").json()["items"]


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_installed(), hub_server() as server:
        server.accounts = {f"{CANARY}-ada": "ada-at-hub", f"{CANARY}-bot": "the-bot"}
        yield server


@pytest.fixture
def app(cli: Home, tenant: str, hub: HubServer) -> CredentialsApp:
    made = CredentialsApp(cli, tenant, hub)
    made.run("role", "create", "team")
    made.run("role", "allow", "team", "hub.*")
    made.run("service", "enable", "hub")
    assert made.run("service", "set", "hub", f"base_url={hub.url}").code == 0
    return made


def test_set_list_test_remove(app: CredentialsApp) -> None:
    done = app.set(*ADA, secret=f"{CANARY}-ada\n")
    assert (done.code, done.out, done.err) == (0, "Stored hub for ada@example.com, account ada-at-hub.\n", "")
    assert app.hub.asked == [f"{CANARY}-ada"]
    assert app.set(*TEAM, "--stdin", "--json", secret=f"{CANARY}-bot").json() == {
        "module": "hub",
        "owner": "role team",
        "account": "the-bot",
        "tested": True,
        "replaced": False,
        "previous_account": None,
    }
    own, shared = app.listed()
    assert (own["owner"], own["kind"], own["account"], own["state"]) == (
        "ada@example.com",
        "personal",
        "ada-at-hub",
        "connected",
    )
    assert (shared["owner"], shared["kind"], shared["account"], shared["last_used_at"]) == (
        "team",
        "shared",
        "the-bot",
        None,
    )
    assert "ada-at-hub" in app.run("credential", "list", "hub").out
    tested = app.run("credential", "test", "hub", "--json").json()
    assert tested["works"]
    assert [(one["owner"], one["account"], one["message"]) for one in tested["results"]] == [
        ("ada@example.com", "ada-at-hub", "it works"),
        ("team", "the-bot", "it works"),
    ]
    assert app.run("credential", "remove", "hub", *ADA).code == 0
    assert app.run("credential", "remove", "hub", *ADA).code == 4
    assert app.run("credential", "test", "hub", *ADA).code == 4
    assert [one["owner"] for one in app.listed("hub")] == ["team"]
    assert [one["kind"] for one in app.events("credential")] == [
        "credential.removed",
        "credential.created",
        "credential.created",
    ]
    assert {one["actor"] for one in app.events("credential")} == {"operator"}, "who stores a key for another"
    assert CANARY not in json.dumps(app.events("credential"))


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (None, 2, "not_accepted"),
        (403, 3, "forbidden"),
        (404, 2, "setup"),
        (429, 6, "busy"),
        (500, 7, "away"),
    ],
)
def test_what_the_vendor_refuses_is_not_stored(app: CredentialsApp, status: int | None, code: int, told: str) -> None:
    """In the words of the page."""
    app.hub.status = status
    app.run("service", "set", "hub", "timeout=1")
    refused = app.set(*ADA, "--json", secret=f"{CANARY}-wrong")
    assert refused.code == code
    message = refused.error()["message"]
    page = Translations("en")(f"connect.refused.key_{told}", service="Hub").striptags()
    assert message.startswith(f"{page} Nothing was stored")
    assert ("--no-test" in message) == (told in ("forbidden", "away"))
    assert app.listed() == []


def test_a_secret_is_tried_once_only(app: CredentialsApp) -> None:
    app.set(*ADA, secret=f"{CANARY}-wrong")
    assert app.hub.asked == [f"{CANARY}-wrong"]


def test_without_a_test(app: CredentialsApp) -> None:
    done = app.set(*ADA, "--no-test", secret=f"{CANARY}-wrong")
    assert done.code == 0
    assert "not asked" in done.err
    assert app.hub.asked == []
    [stored] = app.listed()
    assert (stored["state"], stored["account"]) == ("connected", "")
    app.hub.accounts[f"{CANARY}-wrong"] = "late"
    assert app.run("credential", "test", "hub").code == 0
    assert app.listed()[0]["account"] == "late"


def test_a_call_uses_that_person_s_account_and_makes_no_token(app: CredentialsApp) -> None:
    """One event says who called what; no token is made for it, in either tenant."""
    other = CredentialsApp(app.cli, f"{app.tenant}-other", app.hub)
    assert app.cli.run("tenant", "create", other.tenant, "--admin", "ada@example.com").code == 0
    other.run("service", "enable", "hub")
    other.run("service", "set", "hub", f"base_url={app.hub.url}")
    app.set(*ADA)
    other.set(*ADA, secret=f"{CANARY}-bot")
    tenants = ((app, "ada"), (other, "bot"))
    before = [[token["id"] for token in one.run("token", "list", "--all", "--json").json()] for one, _ in tenants]
    for one, account in tenants:
        app.hub.asked.clear()
        assert one.run("call", "hub", "look", *ADA, "--json").json()["said"] == "hello"
        assert app.hub.asked == [f"{CANARY}-{account}"]
        assert one.run("call", "hub", "look", "--params", '{"no_such": 1}').code == 1
        assert one.run("schema", "hub").code == 0
    for (one, _), tokens in zip(tenants, before, strict=True):
        told = [(event["kind"], event["outcome"], event["client"]) for event in one.events("call")]
        assert told == [("call", "error", "mcpist call"), ("call", "ok", "mcpist call")]
        assert one.events("token") == []
        assert [token["id"] for token in one.run("token", "list", "--all", "--json").json()] == tokens


def test_another_account_is_said_aloud(app: CredentialsApp) -> None:
    app.set(*ADA)
    refused = app.set(*ADA, secret=f"{CANARY}-bot")
    assert refused.code == 5
    assert "the account the-bot, the stored one to ada-at-hub" in refused.err
    assert "--replace-account" in refused.err
    assert app.listed()[0]["account"] == "ada-at-hub"
    assert app.set(*ADA).out == "Stored hub for ada@example.com, account ada-at-hub. It replaces the one before.\n"
    done = app.set(*ADA, "--replace-account", "--json", secret=f"{CANARY}-bot").json()
    assert (done["replaced"], done["previous_account"], done["account"]) == (True, "ada-at-hub", "the-bot")
    assert len(app.events("credential.replaced")) == 2


PAIR = """[hub_keys]
title = "Hub keys"
[hub_keys.key]
scheme = "basic_pair"
user_kind = "email"
[hub_keys.modules.hub]
"""
HUB_USER = "a.lovelace@vendor.example"


def test_a_key_is_sent_as_its_provider_says(app: CredentialsApp, tmp_path: Path) -> None:
    """When it is set, tested and used."""
    document = tmp_path / "keys.toml"
    document.write_text(PAIR)
    assert app.run("provider", "add", str(document)).code == 0
    header = "Basic " + base64.b64encode(f"{HUB_USER}:{CANARY}-pair".encode()).decode()
    app.hub.accounts[header] = "ada-at-hub"
    secret = f"{CANARY}-pair"
    missing = app.set(*ADA, secret=secret)
    assert (missing.code, "--key-user NAME" in missing.err) == (2, True)
    unknown = app.set(*ADA, "--key-user", HUB_USER, "--provider", "github", secret=secret)
    assert (unknown.code, app.hub.asked) == (4, [])
    done = app.set(*ADA, "--key-user", HUB_USER, secret=secret)
    assert (done.code, done.out) == (0, "Stored hub for ada@example.com, account ada-at-hub.\n")
    assert app.run("credential", "test", "hub").code == 0
    app.run("role", "allow", "admin", "hub.*")
    assert app.run("call", "hub", "look", "--user", "ada@example.com").code == 0
    assert app.hub.asked == [header] * 3
    app.run("provider", "remove", "hub_keys")
    superfluous = app.set(*ADA, "--key-user", HUB_USER)
    assert (superfluous.code, "leave out --key-user" in superfluous.err) == (2, True)


def test_a_test_keeps_the_state_true(app: CredentialsApp) -> None:
    app.set(*ADA)
    del app.hub.accounts[f"{CANARY}-ada"]
    refused = app.run("credential", "test", "hub", *ADA, "--json")
    assert refused.code == 1
    [result] = json.loads(refused.out)["results"]
    assert (result["works"], result["state"]) == (False, "broken")
    [stored] = app.listed()
    assert (stored["state"], stored["cause"]) == ("needs_reconnect", "rejected")
    [event] = app.events("credential.broken")
    assert event["detail"]["cause"] == "rejected"  # type: ignore[index]

    app.hub.accounts[f"{CANARY}-ada"] = "ada-at-hub"
    mended = app.run("credential", "test", "hub", *ADA)
    assert mended.code == 0
    assert "used again" in mended.out
    assert app.listed()[0]["state"] == "connected"


def test_what_says_nothing_about_a_credential_changes_nothing(app: CredentialsApp) -> None:
    app.set(*ADA)
    for status in (403, 404):
        app.hub.status = status
        told = app.run("credential", "test", "hub")
        assert told.code == 1
        assert "nothing changed" in told.out
        assert app.listed()[0]["state"] == "connected"


@pytest.mark.parametrize("status", [None, 302, 400, 401, 500, 503])
def test_the_log_has_no_secret_even_at_its_loudest(app: CredentialsApp, status: int | None) -> None:
    loud = {"MCPIST_LOG_LEVEL": "debug"}
    app.run("service", "set", "hub", "timeout=1")
    app.run("credential", "set", "hub", *ADA, "--no-test", secret=f"{CANARY}-ada")
    app.hub.status = status
    for command in (("set", "hub", *ADA), ("test", "hub"), ("list",), ("remove", "hub", *ADA)):
        assert "DEBUG" in app.run("credential", *command, secret=f"{CANARY}-ada", **loud).err
    assert CANARY not in json.dumps(app.events("credential"))


@pytest.mark.parametrize("secret", ["", "\n", "two words", "two\nlines", "x" * 16_385, "ü", b"\xff"])
def test_what_cannot_be_a_secret(app: CredentialsApp, secret: str | bytes) -> None:
    assert app.run("credential", "set", "hub", *ADA, "--no-test", secret=secret).code == 2
    assert app.listed() == []


def test_from_a_file(app: CredentialsApp, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{CANARY}-ada\r\n")
    file.chmod(0o644)
    done = app.set(*ADA, "--from-file", str(file), secret="")
    assert done.code == 0
    assert "can be read by others" in done.err
    file.chmod(0o600)
    assert app.set(*ADA, "--from-file", str(file), secret="").err == ""
    assert app.set(*ADA, "--from-file", str(file), "--stdin").code == 2
    mistaken = app.set(*ADA, "--from-file", f"{CANARY}-ada", secret="")
    assert mistaken.code == 2
    assert "cannot be read" in mistaken.err


def test_never_from_the_command_line(app: CredentialsApp) -> None:
    refused = app.run("credential", "set", "hub", *ADA, f"{CANARY}-ada")
    assert refused.code == 2
    assert "your shell remembers it" in " ".join(refused.err.split())
    assert app.run("credential", "set", "hub", *ADA, f"--token={CANARY}-ada").code == 2
    assert app.run("service", "set", "hub", f"{CANARY}-ada").code == 2
    assert app.listed() == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("set", "hubb", *ADA), 4, "did you mean hub?"),
        (("set", "knowledge_graph", *ADA), 2, "no vendor"),
        (("set", "hub"), 2, "--user EMAIL"),
        (("set", "hub", *ADA, *TEAM), 2, "--role NAME"),
        (("set", "hub", "--user", "nobody@example.com"), 4, "mcpist user list"),
        (("set", "hub", "--role", "nobody"), 4, "mcpist role list"),
        (("test", "hubb"), 4, "did you mean hub?"),
        (("test", "knowledge_graph"), 2, "no vendor"),
        (("test", "hub"), 4, "mcpist credential set hub"),
        (("list", "hubb"), 4, "did you mean hub?"),
        (("list", "knowledge_graph"), 2, "no vendor"),
        (("remove", "hubb", *ADA), 4, "did you mean hub?"),
        (("remove", "hub"), 2, "--user EMAIL"),
    ],
)
def test_what_is_wrong_is_named(app: CredentialsApp, arguments: tuple[str, ...], code: int, told: str) -> None:
    refused = app.run("credential", *arguments, secret=f"{CANARY}-ada")
    assert refused.code == code
    assert told in refused.err
    assert app.hub.asked == []


def test_a_module_that_is_gone_leaves_credentials_to_see_and_remove(app: CredentialsApp) -> None:
    app.set(*ADA)
    with (
        mock.patch("server.offline_admin_api.load_installed_manifests", return_value=()),
        mock.patch("server.wiring.offline_broker.load_installed_manifests", return_value=()),
    ):
        assert len(app.listed("hub")) == 1
        assert app.run("credential", "remove", "hub", *ADA).code == 0
        assert app.run("credential", "list", "hub").code == 4


def test_a_service_that_is_off_is_noted(app: CredentialsApp) -> None:
    app.run("service", "disable", "hub")
    assert "mcpist service enable hub" in app.set(*ADA).err


def test_a_private_vendor_has_to_be_allowed(app: CredentialsApp) -> None:
    refused = app.run("credential", "set", "hub", *ADA, secret=f"{CANARY}-ada", MCPIST_ALLOWED_PRIVATE_HOSTS="")
    assert refused.code == 7
    assert Translations("en")("connect.refused.key_away", service="Hub").striptags() in refused.err
    assert "MCPIST_ALLOWED_PRIVATE_HOSTS" in refused.err
    assert app.hub.asked == []


def test_each_tenant_has_its_own(app: CredentialsApp, cli: Home) -> None:
    app.set(*ADA)
    assert cli.run("tenant", "create", f"{app.tenant}-b", "--admin", "ada@example.com").code == 0
    other = CredentialsApp(cli, f"{app.tenant}-b", app.hub)
    assert other.listed() == []
    assert other.run("credential", "remove", "hub", *ADA).code == 4
    assert len(app.listed()) == 1


def test_doctor_explains_each(app: CredentialsApp, cli: Home) -> None:
    app.set(*ADA)
    app.set(*TEAM, secret=f"{CANARY}-bot")
    del app.hub.accounts[f"{CANARY}-ada"]
    app.run("credential", "test", "hub")
    report = app.searched(cli.run("doctor", "--json")).json()
    assert report["healthy"]
    told = {one["state"]: one["message"] for one in report["checks"] if app.tenant in one["message"]}
    assert told["ok"] == f"{app.tenant}: Hub of role team is connected as the-bot"
    warnings = [one["message"] for one in report["checks"] if one["state"] == "warning"]
    assert any(f"mcpist credential set hub --user ada@example.com --tenant {app.tenant}" in one for one in warnings)
    [keys] = [one for one in report["checks"] if one["check"] == "vault keys"]
    assert "active" in keys["message"]
    app.run("service", "disable", "hub")
    report = cli.run("doctor", "--json").json()
    off = [one["message"] for one in report["checks"] if one["check"] == "credential" and app.tenant in one["message"]]
    assert any(f"mcpist service enable hub --tenant {app.tenant}" in one for one in off)


def test_at_the_prompt_nothing_is_echoed(app: CredentialsApp) -> None:
    """A process of its own on a terminal: neither the screen nor the process list shows the secret."""
    mine, theirs = pty.openpty()
    environment = {**app.cli.environment, "MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{app.hub.port}"}
    command = [sys.executable, "-m", "tests.cli.hub", "credential", "set", "hub", *ADA]
    with subprocess.Popen(
        [*command, "--tenant", app.tenant],
        cwd=ROOT,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        screen = read_until(mine, b"(is not shown): ")
        process_list = Path(f"/proc/{process.pid}/cmdline"), Path(f"/proc/{process.pid}/environ")
        os.write(mine, f"{CANARY}-ada\n".encode())
        told = b"".join(path.read_bytes() for path in process_list)
        screen += read_until(mine, b"ada-at-hub")
        assert process.wait(LONG) == 0
    os.close(mine)
    assert b"Secret of ada@example.com for hub" in screen
    assert CANARY.encode() not in screen + told
    assert [one["account"] for one in app.listed()] == ["ada-at-hub"]


def test_a_prompt_comes_after_what_can_be_checked_before(app: CredentialsApp) -> None:
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "tests.cli.hub", "credential", "set", "hub", "--role", "nobody"]
    ended = subprocess.run(
        [*command, "--tenant", app.tenant],
        cwd=ROOT,
        env=app.cli.environment,
        stdin=theirs,
        capture_output=True,
        timeout=LONG,
        check=False,
    )
    os.close(mine)
    os.close(theirs)
    assert ended.returncode == 4
    assert b"mcpist role list" in ended.stderr


def read_until(terminal: int, text: bytes) -> bytes:
    seen, end = b"", time.monotonic() + LONG
    os.set_blocking(terminal, False)
    while text not in seen:
        assert time.monotonic() < end, seen.decode(errors="replace")
        try:
            seen += os.read(terminal, 65_536)
        except BlockingIOError:
            time.sleep(0.02)
    return seen
