"""The same commands on the data folder and at a server: the same documents, the same exit codes."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.client import server_selection
from tests.cli.conftest import Ended, Home
from tests.cli.laptop import Laptop, Person

ADMIN = "admin@localhost"
HERE = ("--tenant", "default")
NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Both:
    """The operator at the data folder, and its first administrator at another computer."""

    here: Home
    there: Home
    url: str

    def locally(self, *arguments: str) -> Ended:
        tenant = () if arguments[0] == "tenant" else HERE
        return self.here.run(*arguments, *tenant, "--json")

    def at_the_server(self, *arguments: str) -> Ended:
        return self.there.run(*arguments, "--json", MCPIST_SERVER=self.url)

    def documents(self, *arguments: str) -> Any:
        """What both print, which is the same."""
        here, there = self.locally(*arguments).json(), self.at_the_server(*arguments).json()
        assert here == there
        return here


async def _signed_in(laptop: Laptop, url: str, link: str) -> None:
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as browser:
        person = Person(url, browser)
        await person.sign_in(link)
        ended = await laptop.run("login", url, "--no-browser", goes=person.agree)
        assert ended.code == 0, ended.err


@pytest.fixture(scope="module")
def both(product_home: tuple[Home, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    here, url = product_home[0], f"http://127.0.0.1:{product_home[0].port}"
    folder = tmp_path_factory.mktemp("laptop")
    link = here.run("user", "link", ADMIN, *HERE, "--json").json()["sign_in_link"]
    asyncio.run(_signed_in(Laptop(folder), url, link))
    yield Both(here, Home(folder / "home", 1, {"XDG_CONFIG_HOME": str(folder / "config")}), url)
    assert not (folder / "home").exists()


def names() -> tuple[str, str]:
    return f"here-{next(NUMBERS)}", f"there-{next(NUMBERS)}"


def replaced(document: Any, old: str, new: str) -> Any:
    """With another name in it, and without what is new each time."""
    if isinstance(document, dict):
        new_each_time = ("id", "created_at", "token", "client_id", "client_secret", "sign_in_link")
        return {
            name: bool(value) if name in new_each_time else replaced(value, old, new)
            for name, value in document.items()
        }
    if isinstance(document, list):
        return [replaced(one, old, new) for one in document]
    return document.replace(old, new) if isinstance(document, str) else document


CHANGES = [
    ("user", "create", "{}@acme.example", "--name", "Some Body"),
    ("user", "create", "{}-boss@acme.example", "--admin"),
    ("user", "suspend", "{}@acme.example"),
    ("user", "resume", "{}@acme.example"),
    ("user", "link", "{}@acme.example"),
    ("role", "create", "{}", "--priority", "7"),
    ("user", "create", "{}-member@acme.example", "--role", "{}"),
    ("role", "allow", "{}", "knowledge_graph:read"),
    ("role", "deny", "{}", "knowledge_graph.delete_entities"),
    ("role", "allow", "{}", "*"),
    ("role", "allow", "{}", "of_later.*", "--allow-unknown"),
    ("role", "revoke", "{}", "of_later.*"),
    ("role", "revoke", "{}", "*"),
    ("user", "assign", "{}@acme.example", "{}"),
    ("user", "unassign", "{}@acme.example", "{}"),
    ("allow", "add", "@{}.example"),
    ("allow", "remove", "@{}.example"),
    ("client", "add", "{}", "--redirect-uri", "https://{}.example/callback", "--secret"),
    ("client", "add", "{} machine", "--acts-as", "{}@acme.example"),
    ("tenant", "create", "{}", "--admin", "ada@{}.example", "--name", "A company"),
    ("tenant", "suspend", "{}"),
    ("tenant", "resume", "{}"),
    ("tenant", "record-arguments", "on", "--tenant", "{}"),
    ("tenant", "remove", "{}", "--confirm", "{}"),
    ("role", "show", "{}"),
    ("role", "delete", "{}"),
    ("user", "remove", "{}@acme.example", "--confirm", "{}@acme.example"),
]


def test_changes(both: Both) -> None:
    """One after the other, and after each of them the same is there."""
    here, there = names()
    for change in CHANGES:
        done = both.locally(*(word.replace("{}", here) for word in change))
        same = both.at_the_server(*(word.replace("{}", there) for word in change))
        assert replaced(done.json(), here, "x") == replaced(same.json(), there, "x"), change
        if change[0] in ("user", "role", "allow", "client", "tenant") and change[1] != "link":
            both.documents(change[0], "list")
    members = [one for one in both.documents("user", "list") if "-member" in one["email"] and there in one["email"]]
    assert [one["roles"] for one in members] == [[]]


def test_a_default_tenant_is_this_machine_s(both: Both) -> None:
    """At a server the tenant is the person's, whatever the shell says of the one here."""
    assert both.there.run("user", "list", MCPIST_SERVER=both.url, MCPIST_TENANT="elsewhere").code == 0
    assert both.there.run("user", "list", "--tenant", "elsewhere", MCPIST_SERVER=both.url).code == 2


def test_tokens(both: Both) -> None:
    here = both.locally("token", "create", "--user", ADMIN, "--name", "n", "--expires", "30d", "--read-only").json()
    there = both.at_the_server("token", "create", "--name", "n", "--expires", "30d", "--read-only").json()
    assert here.keys() == there.keys()
    assert (there["user"], there["read_only"], there["tool_result_format"]) == (ADMIN, True, None)
    for run in (both.locally, both.at_the_server):
        short = run("token", "create", "--user", ADMIN, "--name", "n", "--tool-result-format", "short").json()
        assert short["tool_result_format"] == "short"
        (listed,) = [one for one in both.documents("token", "list") if one["id"] == short["id"]]
        assert listed["tool_result_format"] == "short"
        assert run("token", "revoke", short["id"]).code == 0
    both.documents("token", "list", "--user", ADMIN)
    assert both.locally("token", "revoke", here["id"]).code == both.at_the_server("token", "revoke", there["id"]).code
    everything = both.documents("token", "list", "--user", ADMIN, "--all")
    assert all(one["revoked_at"] for one in everything if one["id"] in (here["id"], there["id"]))


def test_clients_and_sessions(both: Both) -> None:
    made = both.locally("client", "add", "some client", "--redirect-uri", "https://c.example/callback").json()
    for run in (both.locally, both.at_the_server):
        for wanted in ("short", "default"):
            assert run("client", "set", made["client_id"], "--tool-result-format", wanted).code == 0
            both.documents("client", "list")
    other = both.at_the_server(
        "client", "add", "another", "--redirect-uri", "https://c.example/", "--tool-result-format", "full"
    ).json()
    assert other["tool_result_format"] == "full"
    assert both.documents("client", "list")[0]["tool_result_format"] == "full"
    assert both.at_the_server("client", "remove", other["client_id"]).code == 0
    for change in ("disable", "enable", "remove"):
        assert both.at_the_server("client", change, made["client_id"]).code == 0
        both.documents("client", "list")
    sessions = both.documents("session", "list", "--user", ADMIN)
    assert sessions[0]["user"] == ADMIN
    assert both.at_the_server("session", "end", sessions[0]["id"]).json() == {"id": sessions[0]["id"], "ended": True}
    assert both.locally("session", "end", sessions[0]["id"]).code == 4
    assert both.at_the_server("session", "end", sessions[0]["id"]).code == 4


def test_issuers(both: Both) -> None:
    issuer = "https://idp.acme.example"
    keys = ("--jwks-uri", f"{issuer}/keys")
    for trusting, removing in ((both.locally, both.at_the_server), (both.at_the_server, both.locally)):
        trusted = trusting("issuer", "trust", issuer, *keys).json()
        assert both.documents("issuer", "list") == [trusted]
        assert removing("issuer", "remove", issuer).json() == {"issuer": issuer, "trusted": False}
        assert both.documents("issuer", "list") == []


def test_the_audit_log(both: Both) -> None:
    both.at_the_server("role", "create", "audited")
    here = both.locally("audit", "--kind", "role.created", "--limit", "1").json()
    there = both.at_the_server("audit", "--kind", "role.created", "--limit", "1").json()
    assert here["items"] == there["items"]
    assert (there["items"][0]["user"], there["items"][0]["detail"]["role"]) == (ADMIN, "audited")
    following = both.at_the_server("audit", "--kind", "role", "--limit", "1", "--cursor", there["next_cursor"])
    assert following.json()["items"] != there["items"]
    for run in (both.locally, both.at_the_server):
        oldest = run("audit", "--kind", "role", "--limit", "1", "--oldest-first").json()
        newer = run("audit", "--kind", "role", "--limit", "1", "--oldest-first", "--cursor", oldest["next_cursor"])
        times = [one["occurred_at"] for one in oldest["items"] + newer.json()["items"] + there["items"]]
        assert times == sorted(times)
        assert len(times) == 3
    assert both.at_the_server("audit", "--since", "1h", "--user", ADMIN, "--outcome", "ok").json()["items"]
    deployment = both.at_the_server("audit", "--deployment", "--limit", "2").json()["items"]
    assert all(one["user"] is None for one in deployment)
    assert "Outcome" in both.there.run("audit", MCPIST_SERVER=both.url).out


def test_the_audit_log_shows_the_number_of_missing_names(both: Both) -> None:
    asked = {"module": ["probed", "probed_too"], "tools": ["a", "b"]}
    token = both.locally("token", "create", "--user", ADMIN).json()["token"]
    answer = httpx2.post(
        f"{both.url}/mcp",
        headers={"Authorization": f"Bearer {token}"},
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_module_schema", "arguments": asked},
        },
    )
    assert answer.json()["result"]["isError"]
    narrowed = ("audit", "--kind", "call.denied", "--module", "probed")
    here, there = both.locally(*narrowed).json(), both.at_the_server(*narrowed).json()
    assert here["items"] == there["items"]
    names = "probed.a, probed.b, probed_too.a, probed_too.b"
    assert [one["detail"] for one in here["items"]] == [{"count": 4, "names": names}]
    for table in (both.here.run(*narrowed, *HERE), both.there.run(*narrowed, MCPIST_SERVER=both.url)):
        assert f"count=4, names={names}" in table.out


def test_who_one_is(both: Both) -> None:
    told = both.there.run("whoami", "--server", both.url)
    assert f"{ADMIN} at {both.url}, administrator of the tenant default." in told.out
    assert "admin:write" in told.out
    assert f"The operator of {both.here.path}." in both.here.run("whoami").out
    assert both.at_the_server("whoami").json()["operator"] is True


def test_services(both: Both) -> None:
    before = both.documents("service", "list")
    assert {"github", "knowledge_graph"} <= {one["module"] for one in before if one["enabled"]}
    for change in (("disable", "github"), ("enable", "github"), ("set", "github", "timeout=7")):
        assert both.documents("service", *change)["module"] == "github"
        both.documents("service", "list")
    assert both.documents("service", "set", "github", "--unset", "timeout")["settings"] == {}
    assert both.documents("service", "list") == before
    assert "TIMEOUT" in both.at_the_server("service", "set", "github").err.upper()


def test_oauth_clients_and_credentials(both: Both, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("zq-9-made-up")
    secret.chmod(0o600)
    asked = ("oauth-client", "set", "github", "--client-id", "Iv1.x", "--from-file", str(secret))
    assert both.documents(*asked)["redirect_uri"].endswith("/connect/callback/github")
    both.at_the_server("role", "create", "coders")
    both.documents(*asked, "--role", "coders")
    listed = both.documents("oauth-client", "list")
    assert [(one["provider"], one["role"], one["has_secret"]) for one in listed] == [
        ("github", "", True),
        ("github", "coders", True),
    ]
    assert both.at_the_server("oauth-client", "remove", "github", "--role", "coders").code == 0
    assert both.locally("oauth-client", "remove", "github").code == 0
    assert both.documents("oauth-client", "list") == []
    stored = ("credential", "set", "github", "--user", ADMIN, "--from-file", str(secret), "--no-test")
    assert both.at_the_server(*stored).code == 2
    assert both.locally(*stored).code == 0
    [shown] = both.documents("credential", "list", "github")
    assert (shown["owner"], shown["state"]) == (ADMIN, "connected")
    assert both.at_the_server("credential", "remove", "github", "--user", ADMIN).code == 0
    assert both.documents("credential", "list") == []


def test_keys_and_the_doctor(both: Both) -> None:
    here, there = both.here.run("keys", "status", "--json").json(), both.at_the_server("keys", "status").json()
    assert here == there
    assert (there["healthy"], there["to_rewrap"], there["to_reencrypt"]) == (True, 0, 0)
    found = both.at_the_server("doctor").json()
    assert found["healthy"] is True, found
    checks = {one["check"] for one in found["checks"]}
    assert {"data folder", "keys", "database", "schema", "clock", "audit log", "vault keys", "deployment"} <= checks
    assert "All is well." in both.there.run("doctor", MCPIST_SERVER=both.url).out


MISTAKES = [
    (("service", "enable", "nothing_known"), 4),
    (("service", "set", "github", "nothing_known=1"), 2),
    (("service", "set", "github", "timeout=never"), 2),
    (("service", "set", "knowledge_graph", "timeout=5"), 2),
    (("oauth-client", "set", "nothing_known", "--client-id", "x", "--no-secret"), 4),
    (("oauth-client", "set", "github", "--client-id", "x", "--no-secret"), 2),
    (("oauth-client", "remove", "github"), 4),
    (("oauth-client", "remove", "github", "--role", "nobody knows"), 4),
    (("credential", "remove", "github", "--user", ADMIN), 4),
    (("credential", "remove", "github"), 2),
    (("user", "create", ADMIN), 5),
    (("user", "create", "no address"), 2),
    (("user", "create", "x@acme.example", "--role", "nobody knows"), 4),
    (("user", "suspend", "nobody@acme.example"), 4),
    (("user", "link", "nobody@acme.example"), 4),
    (("user", "assign", ADMIN, "nobody knows"), 4),
    (("role", "create", "administrator"), 5),
    (("role", "create", "x", "--priority", "9999999"), 2),
    (("role", "allow", "administrator", "not a permission"), 2),
    (("role", "allow", "administrator", "knowledge_grph:read"), 2),
    (("role", "deny", "administrator", "knowledge_graph.serch"), 2),
    (("role", "allow", "nobody knows", "*"), 4),
    (("role", "revoke", "administrator", "github.nothing"), 4),
    (("role", "delete", "nobody knows"), 4),
    (("allow", "add", "acme.example"), 2),
    (("allow", "remove", "@nobody.example"), 4),
    (("client", "add", "x"), 2),
    (("client", "add", "x", "--redirect-uri", "http://evil.example/"), 2),
    (("client", "add", "x", "--acts-as", "nobody@acme.example"), 4),
    (("client", "remove", "client_nobodyknows"), 4),
    (("client", "disable", "client_nobodyknows"), 4),
    (("issuer", "trust", "idp"), 2),
    (("issuer", "trust", "https://x.example", "--jwks-uri", "http://10.0.0.1/"), 2),
    (("issuer", "remove", "https://nobody.example"), 4),
    (("token", "revoke", "aaaaaaaaaaaa"), 4),
    (("token", "revoke", "mcpist_aaaaaaaaaaaa_x"), 2),
    (("tenant", "create", "default", "--admin", ADMIN + ".example"), 5),
    (("tenant", "suspend", "nobody-knows"), 4),
    (("session", "end", "x"), 2),
    (("session", "end", "00000000-0000-0000-0000-000000000000"), 4),
    (("audit", "--since", "yesterday"), 2),
    (("audit", "--user", "nobody@acme.example"), 4),
    (("user", "list", "--tenant", "nobody-knows"), (4, 2)),
]


@pytest.mark.parametrize(("mistake", "code"), MISTAKES, ids=[" ".join(one) for one, _ in MISTAKES])
def test_mistakes(both: Both, mistake: tuple[str, ...], code: Any) -> None:
    codes = code if isinstance(code, tuple) else (code, code)
    arguments = () if "--tenant" in mistake or mistake[0] == "tenant" else HERE
    here, there = both.here.run(*mistake, *arguments, "--json"), both.at_the_server(*mistake)
    assert (here.code, there.code) == codes, (here.err, there.err)
    assert there.error()["message"]
    assert "nothing at this address" not in there.err, "it says what is missing"


ONLY_HERE = [
    ("up",),
    ("gateway",),
    ("broker",),
    ("console",),
    ("migrate",),
    ("logs",),
    ("backup", "x"),
    ("restore", "x"),
    ("stdio",),
    ("call", "knowledge_graph", "search"),
    ("schema",),
    ("keys", "rewrap"),
    ("keys", "signing", "rotate"),
    ("audit", "anchors"),
    ("audit", "drop", "--keep-months", "12"),
    ("audit", "retention", "apply"),
]


@pytest.mark.parametrize("command", ONLY_HERE, ids=" ".join)
def test_what_has_no_counterpart_says_so(fresh: Home, command: tuple[str, ...]) -> None:
    for named in (("--server", "https://mcp.example.com"), ("--server=https://mcp.example.com",)):
        refused = fresh.run(*command, *named)
        assert (refused.code, refused.out) == (2, "")
        assert "works on the machine where MCPist keeps its data" in refused.err
    assert fresh.run(*command, MCPIST_SERVER="https://mcp.example.com").code == 2
    assert not fresh.path.exists()


def test_where_the_option_may_stand() -> None:
    moved = ["--server", "URL", "user", "list"]
    for line in ("--server URL user list", "user --server URL list", "user list --server URL"):
        assert server_selection.hoist_server_option(line.split()) == moved
    assert server_selection.hoist_server_option(["a", "--server=URL", "b"]) == ["--server=URL", "a", "b"]
    assert server_selection.hoist_server_option(["a", "--", "--server", "URL"]) == ["a", "--", "--server", "URL"]
    assert server_selection.hoist_server_option(["a", "--server"]) == ["--server", "a"]


def test_a_wrong_server(fresh: Home, tmp_path: Path) -> None:
    for url in ("nonsense", "http://mcp.example.com", "https://mcp.example.com/some/path"):
        assert fresh.run("user", "list", "--server", url).code == 2
    assert fresh.run("user", "list", "--server", "https://mcp.example.com").code == 3
    assert fresh.run("user", "list", "--server").code == 2
    assert not fresh.path.exists()


PROVIDER = """[{}]
title = "Acme CRM"
[{}.oauth]
authorize_url = "https://id.acme.example/authorize"
token_url = "https://id.acme.example/token"
"""


def test_providers(both: Both, tmp_path: Path) -> None:
    file = tmp_path / "provider.toml"
    for run, name in ((both.locally, "acme_here"), (both.at_the_server, "acme_there")):
        file.write_text(PROVIDER.replace("{}", name))
        made = run("provider", "add", str(file))
        assert made.json() == both.documents("provider", "show", name)
        assert run("provider", "add", str(file)).json() == made.json()
        file.write_text(PROVIDER.replace("{}", name).replace("CRM", "Mail"))
        refused = run("provider", "add", str(file))
        assert (refused.code, refused.error()["code"]) == (5, "conflict")
        assert run("provider", "add", str(file), "--replace").json()["version"] == 2
        assert [one["title"] for one in both.documents("provider", "list") if one["id"] == name] == ["Acme Mail"]
        written = tmp_path / "provider.json"
        written.write_text(run("provider", "show", name, "--document").out)
        assert run("provider", "remove", name).json() == {"id": name, "removed": True}
        assert run("provider", "add", str(written)).json()["document"]["title"] == "Acme Mail"
        for mistake, code in (
            (("show", "nowhere"), 4),
            (("remove", "nowhere"), 4),
            (("remove", "github"), 2),
            (("add",), 2),
            (("add", str(tmp_path / "nowhere.toml")), 2),
            (("add", str(written), "--discover", "https://id.acme.example"), 2),
            (("add", str(written), "--module", "x"), 2),
            (("add", "--discover", "https://localhost"), 2),
        ):
            ended = run("provider", *mistake)
            assert (ended.code, ended.out) == (code, ""), (mistake, ended.err)
