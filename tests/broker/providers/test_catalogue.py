"""Providers as data: those that come along, and what an administrator may add."""

import copy
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from broker.oauth_client.vendor_scopes import covers_module
from broker.providers.catalogue import PROVIDERS_FILE, load_builtin_providers, parse_provider_text, parse_providers_toml
from broker.providers.schema import Provider
from broker.providers.templates import fill_url, list_outbound_urls, resolve_settings
from core.errors import Invalid, NotFound
from core.http.outbound_addresses import AllowedAddresses

ROOT = Path(__file__).resolve().parents[3]
OWN = load_builtin_providers()
PUBLIC = AllowedAddresses()

ACME: dict[str, Any] = {
    "title": "Acme CRM",
    "settings": {"region": {"title": "Region", "default": "eu"}},
    "oauth": {
        "authorize_url": "https://id.acme.example/authorize",
        "token_url": "https://id-{region}.acme.example/token".replace("-{region}", ""),
        "authorize_params": {"region": "{region}"},
        "verdicts": [{"error": "token_gone", "class": "permanent", "reason": "revoked"}],
        "refresh": {"profile": "grace", "grace_seconds": 30, "margin_seconds": 120},
        "revoke": {"url": "https://id.acme.example/revoke/{client_id}"},
    },
    "account": {"source": "url", "url": "https://api.acme.example/{region}/me", "id": "/id", "name": ["/mail"]},
    "modules": {"acme": {"reading": ["crm.read"], "writing": ["crm.write"]}},
}


def changed(path: str, value: object) -> dict[str, Any]:
    """ACME with one value set; ... takes it away."""
    document = copy.deepcopy(ACME)
    *tables, key = path.split(".")
    table = document
    for name in tables:
        table = table.setdefault(name, {})
    if value is ...:
        del table[key]
    else:
        table[key] = value
    return document


# Those that come along


def test_every_provider_of_the_issue_is_there() -> None:
    assert OWN.known.keys() == {
        "google", "google_health", "fitbit", "microsoft", "github", "github_oauth_app", "notion", "atlassian",
        "supabase", "supabase_registered", "toggl", "oidc", "oauth2",
    }  # fmt: skip
    assert not OWN.broken
    both = {one.id for one in OWN.known.values() if one.oauth and one.key}
    assert both >= {"notion", "supabase", "github"}
    assert OWN.get("toggl").oauth is None
    assert OWN.get("atlassian").modules.keys() == {"jira", "confluence"}


@pytest.mark.parametrize("provider", OWN.known.values(), ids=lambda one: one.id)
def test_their_urls_may_be_asked_without_any_exception(provider: Provider) -> None:
    given = {name: "https://id.example/x" for name, one in provider.settings.items() if one.default is None}
    found = dict(list_outbound_urls(provider, resolve_settings(provider, given)))
    assert provider.oauth is None or "oauth.token_url" in found
    document = provider.model_dump(by_alias=True, exclude_unset=True, exclude={"id"})
    assert OWN.parse_custom("mine", document, PUBLIC).title == provider.title


@pytest.mark.parametrize("provider", OWN.known.values(), ids=lambda one: one.id)
def test_each_has_a_page_that_says_how_to_register_an_app(provider: Provider) -> None:
    page = (ROOT / "docs" / "providers" / f"{provider.id}.md").read_text()
    assert page.startswith("# ")
    assert "not tried" in page or "not been tried" in page
    if provider.oauth is not None:
        assert "redirect URI" in page


def test_every_key_is_explained() -> None:
    page = (ROOT / "docs" / "providers" / "README.md").read_text()
    schema = Provider.model_json_schema()
    tables = [schema, *schema["$defs"].values()]
    names = {name for table in tables for name in table.get("properties", {})} - {"id"}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_the_recovery_profiles_are_those_of_the_vendors() -> None:
    profiles = {one.id: one.oauth.refresh for one in OWN.known.values() if one.oauth}
    assert {name for name, rules in profiles.items() if rules.profile == "non_rotating"} == {
        "google", "google_health", "microsoft",
    }  # fmt: skip
    assert {name: rules.grace_seconds for name, rules in profiles.items() if rules.profile == "grace"} == {
        "atlassian": 600, "fitbit": 120,
    }  # fmt: skip
    assert {name for name, rules in profiles.items() if rules.late} == {"github"}
    assert profiles["microsoft"].idle_seconds == 90 * 86_400


ADDRESSES = {
    "google": (
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://oauth2.googleapis.com/token",
        "https://oauth2.googleapis.com/revoke",
    ),
    "microsoft": (
        "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        "",
    ),
    "notion": tuple(f"https://api.notion.com/v1/oauth/{one}" for one in ("authorize", "token", "revoke")),
    "atlassian": tuple(f"https://auth.atlassian.com/{one}" for one in ("authorize", "oauth/token", "oauth/revoke")),
    "github": (
        "https://github.com/login/oauth/authorize",
        "https://github.com/login/oauth/access_token",
        "https://api.github.com/applications/an-id/grant",
    ),
    "supabase": tuple(f"https://api.supabase.com/v1/oauth/{one}" for one in ("authorize", "token", "revoke")),
    "fitbit": (
        "https://www.fitbit.com/oauth2/authorize",
        "https://api.fitbit.com/oauth2/token",
        "https://api.fitbit.com/oauth2/revoke",
    ),
}
ADDRESSES |= {
    "supabase_registered": ADDRESSES["supabase"],
    "google_health": ADDRESSES["google"],
    "github_oauth_app": ADDRESSES["github"],
}


@pytest.mark.parametrize("provider_id", ADDRESSES)
def test_the_addresses_are_those_of_the_vendor(provider_id: str) -> None:
    provider = OWN.get(provider_id)
    oauth, values = provider.oauth, resolve_settings(provider, {})
    assert oauth is not None
    revoke = "" if oauth.revoke is None else fill_url(oauth.revoke.url, values, client_id="an-id")
    assert ADDRESSES[provider_id] == (*(fill_url(u, values) for u in (oauth.authorize_url, oauth.token_url)), revoke)
    assert (oauth.pkce == "none") == (provider_id == "notion"), "Notion does not document it"


def test_the_lives_of_grants_are_those_of_the_vendors() -> None:
    lives = {one.id: one.oauth.refresh for one in OWN.known.values() if one.oauth}
    assert {name: rules.idle_days for name, rules in lives.items() if rules.idle_days} == {
        "google": 180, "google_health": 180, "microsoft": 90, "atlassian": 90, "github": 180, "github_oauth_app": 365,
    }  # fmt: skip
    assert {name: rules.life_days for name, rules in lives.items() if rules.life_days} == {"atlassian": 365}


def test_an_unknown_one_is_not_found() -> None:
    with pytest.raises(NotFound, match="there is no provider 'nobody'; there are: atlassian"):
        OWN.get("nobody")


# An administrator's own


def test_a_provider_is_added_without_code() -> None:
    providers = OWN.merge_custom([("acme", ACME)])
    acme = providers.get("acme")
    assert acme.oauth is not None
    assert acme.oauth.refresh.grace_seconds == 30
    values = resolve_settings(acme, {"region": "us"})
    assert acme.account is not None
    assert fill_url(acme.account.url or "", values) == "https://api.acme.example/us/me"
    assert "acme" not in OWN.known  # nobody else's


def test_it_may_be_written_as_toml() -> None:
    text = '[acme]\ntitle = "A"\n[acme.key]\ncheck_url = "https://a.example/me"\nid = "/id"\n'
    provider_id, document = parse_provider_text(text)
    assert OWN.parse_custom(provider_id, document, PUBLIC).key is not None


def test_the_government_cloud_of_the_page_is_atlassian_elsewhere() -> None:
    page = (Path(__file__).parents[3] / "docs" / "providers" / "atlassian.md").read_text()
    provider_id, document = parse_provider_text(page.partition("```toml\n")[2].partition("```")[0])
    made, known = OWN.parse_custom(provider_id, document, PUBLIC), OWN.get("atlassian")
    assert made.modules == known.modules
    assert made.oauth is not None
    assert known.oauth is not None
    assert made.oauth.refresh == known.oauth.refresh
    assert made.oauth.pkce == "S256"
    assert not [one for one in (made.api, made.oauth.token_url, made.sites) if "atlassian.com" in str(one)]


NATIONAL_CLOUDS = {
    "microsoft_us_government": ("login.microsoftonline.us", "https://graph.microsoft.us"),
    "microsoft_us_dod": ("login.microsoftonline.us", "https://dod-graph.microsoft.us"),
    "microsoft_china": ("login.partner.microsoftonline.cn", "https://microsoftgraph.chinacloudapi.cn"),
}


def test_the_national_clouds_of_the_page_are_microsoft_elsewhere() -> None:
    page = (Path(__file__).parents[3] / "docs" / "providers" / "microsoft_national_clouds.md").read_text()
    documents = dict(map(parse_provider_text, re.findall(r"```toml\n(.*?)```", page, re.DOTALL)))
    known = OWN.get("microsoft")
    assert documents.keys() == NATIONAL_CLOUDS.keys()
    assert known.oauth is not None
    for provider_id, (sign_in, graph) in NATIONAL_CLOUDS.items():
        made = OWN.parse_custom(provider_id, documents[provider_id], PUBLIC)
        assert made.oauth is not None
        values = resolve_settings(made, {"tenant": "acme.example"})
        assert fill_url(made.oauth.authorize_url, values) == f"https://{sign_in}/acme.example/oauth2/v2.0/authorize"
        assert fill_url(made.oauth.token_url, values) == f"https://{sign_in}/acme.example/oauth2/v2.0/token"
        assert made.api == (graph,), "a token is sent to the Graph of its own cloud alone"
        assert f"`{graph}/v1.0` |" in page
        assert covers_module(made, "microsoft_todo", [f"{graph}/Tasks.ReadWrite"], reading=True)
        assert not covers_module(made, "microsoft_todo", ["https://graph.microsoft.com/Tasks.Read"], reading=True)
        elsewhere = {"authorize_url", "token_url", "scope_prefix"}
        assert made.oauth.model_dump(exclude=elsewhere) == known.oauth.model_dump(exclude=elsewhere)
        assert (made.account, made.modules) == (known.account, known.modules)


@pytest.mark.parametrize(
    "text",
    ["", "x = 1", "[a]\ntitle='A'\n[b]\ntitle='B'", "[a", "[a]\n" + "#" * 40_000],
)
def test_toml_that_is_not_one_provider_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_provider_text(text)


def key(**more: object) -> dict[str, object]:
    """A table of keys; None leaves one out."""
    made: dict[str, object] = {"check_url": "https://a.example/", "id": "/i", **more}
    return {name: value for name, value in made.items() if value is not None}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("oauth.token_url", ..., "acme.oauth.token_url: it is missing"),
        ("oauth.tokenurl", "x", "acme.oauth.tokenurl: there is no such key"),
        ("oauth.token_url", "http//x", "acme.oauth.token_url: give a URL that begins with https://"),
        ("oauth.token_url", "https://u:p@id.acme.example/", "acme.oauth.token_url: give a URL"),
        ("oauth.token_url", "https://id.acme.example/#x", "acme.oauth.token_url: give a URL of ASCII"),
        ("oauth.token_url", "https://{region}.acme.example/", "acme.oauth.token_url: give a URL"),
        ("oauth.token_url", "{nowhere}/token", "acme.oauth.token_url: {nowhere} is none of its settings"),
        ("oauth.token_url", "{region}/token", "acme.oauth.token_url: a setting of the kind word must be inside"),
        ("oauth.token_url", "https://id.acme.example/{client_id}", "acme.oauth.token_url: {client_id} is none"),
        ("oauth.authorize_params", {"scope": "x"}, "acme.oauth.authorize_params: MCPist sets some parameters itself"),
        ("oauth.authorize_params", {"a": "{nowhere}"}, "acme.oauth.authorize_params.a: {nowhere} is none"),
        ("oauth.token_headers", {"Authorization": "x"}, "acme.oauth.token_headers: a header's name"),
        ("oauth.token_headers", {"X-A": "b\r\nX-B: c"}, "acme.oauth.token_headers: a header's value must be one line"),
        ("oauth.pkce", "plain", "acme.oauth.pkce: Input should be 'S256' or 'none'"),
        ("oauth.client_auth", "jwt", "acme.oauth.client_auth: Input should be 'basic', 'basic_raw', "),
        ("oauth.base_scopes", ["a b"], "acme.oauth.base_scopes.0: "),
        ("oauth.base_scopes", ["s"] * 201, "acme.oauth.base_scopes: Tuple should have at most 200 items"),
        ("oauth.refresh.profile", "strict", "acme.oauth.refresh: grace_seconds is required for the profile grace"),
        ("oauth.refresh.grace_seconds", 99_999, "acme.oauth.refresh.grace_seconds: Input should be less than or equal"),
        ("oauth.refresh.margin_seconds", "soon", "acme.oauth.refresh.margin_seconds: Input should be a valid number"),
        ("oauth.verdicts", [{"class": "permanent", "reason": "revoked"}], "acme.oauth.verdicts.0: give at least one"),
        ("oauth.verdicts", [{"error": "x", "class": "not_sent", "reason": "revoked"}], "acme.oauth.verdicts.0.class: "),
        ("oauth.verdicts", [{"error": "x", "class": "service", "reason": "o"}], "verdicts.0.reason: give one of acc"),
        ("oauth", "x", "acme.oauth: "),
        ("oauth", ..., "acme: give oauth, key, or both"),
        ("account.url", ..., "acme.account: url is required for the source url"),
        ("account.id", "id", "acme.account.id: give a JSON pointer"),
        ("key", {"check_url": "https://a.example/", "id": "/i", "scheme": "header"}, "acme.key: header is required"),
        ("key", key(scheme="header", header="Host"), "acme.key.header: give Authorization or a header"),
        ("key", key(scheme="header", header="Content-Length"), "acme.key.header: give Authorization or a header"),
        ("key", key(scheme="header", header="X-A\r\nX-B"), "acme.key.header: "),
        ("key", key(scheme="header", header="X-A", word="a b"), "acme.key.word: "),
        ("key", key(word="Token"), "acme.key: word is allowed only for the scheme header"),
        ("key", key(scheme="basic_password", user="a:b"), "acme.key.user: "),
        ("key", key(user="a"), "acme.key: user is allowed only for the scheme basic_password"),
        ("key", key(password="a"), "acme.key: password is allowed only for the scheme basic_user"),
        ("key", key(scheme="basic_pair"), "acme.key: user_kind is required for the scheme basic_pair"),
        ("key", key(user_kind="email"), "acme.key: user_kind is required for the scheme basic_pair"),
        ("key", key(id=None), "acme.key: check_url and id must be given together"),
        ("settings.region", {"title": "R", "kind": "number"}, "acme.settings.region.kind: Input should be 'word', "),
        ("settings.Region", {"title": "R"}, "acme.settings.Region"),
        ("title", "", "acme.title: String should have at least 1 character"),
        ("title", "A\nB", "acme.title: "),
        ("title", "x" * 300, "acme.title: String should have at most 200 characters"),
        ("modules.Other", {}, "acme.modules.Other"),
        ("id", "other", "acme.id: leave it out"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_what_is_allowed(path: str, value: object, told: str) -> None:
    with pytest.raises(Invalid) as problem:
        OWN.parse_custom("acme", changed(path, value))
    assert told in str(problem.value)


@pytest.mark.parametrize("provider_id", ["Acme", "a b", "", "../x", "x" * 41])
def test_an_id_is_a_word(provider_id: str) -> None:
    with pytest.raises(Invalid):
        OWN.parse_custom(provider_id, ACME)


def test_our_own_providers_cannot_be_replaced() -> None:
    with pytest.raises(Invalid, match="choose another id"):
        OWN.parse_custom("github", ACME)
    assert OWN.merge_custom([("github", ACME)]).broken.keys() == {"github"}


@pytest.mark.parametrize(
    "url",
    [
        "http://id.acme.example/token", "https://id.acme.example:8443/token", "https://127.0.0.1/token",
        "https://localhost/token", "https://10.0.0.8/token", "https://[::1]/token", "https://0x7f000001/token",
    ],
)  # fmt: skip
def test_a_url_that_mcpist_may_not_reach_is_refused_when_it_is_added(url: str) -> None:
    document = changed("oauth.token_url", url)
    with pytest.raises(Invalid, match=r"acme\.oauth\.token_url: MCPist may only reach public hosts"):
        OWN.parse_custom("acme", document, PUBLIC)


def test_an_operators_exception_counts() -> None:
    document = changed("oauth.token_url", "http://sso.internal:8080/token")
    assert OWN.parse_custom("acme", document, AllowedAddresses.from_hosts(["sso.internal:8080"])).oauth is not None


def test_a_document_has_a_limit() -> None:
    document = changed("oauth.authorize_params", {f"p{number}": "x" * 400 for number in range(100)})
    with pytest.raises(Invalid, match="at most 32 KiB"):
        OWN.parse_custom("acme", document)


def test_no_value_of_a_document_is_repeated() -> None:
    secret = "a-secret-that-was-pasted-into-the-wrong-place"
    for path in ("oauth.client_secret", "oauth.pkce", "oauth.token_url", "settings.region.kind"):
        with pytest.raises(Invalid) as problem:
            OWN.parse_custom("acme", changed(path, secret))
        assert secret not in str(problem.value)


def test_one_that_cannot_be_read_harms_no_other() -> None:
    providers = OWN.merge_custom([("old", {"title": "Old"}), ("acme", ACME), ("worse", {"oauth": []})])
    assert providers.get("acme").title == "Acme CRM"
    assert providers.broken.keys() == {"old", "worse"}
    with pytest.raises(Invalid, match="old: give oauth, key, or both"):
        providers.get("old")


# Settings


@pytest.mark.parametrize("value", ["common", "contoso.onmicrosoft.com", "72f988bf-86f1-41af-91ab-2d7cd011db47"])
def test_a_word_stays_in_its_place(value: str) -> None:
    microsoft = OWN.get("microsoft")
    assert microsoft.oauth is not None
    url = fill_url(microsoft.oauth.token_url, resolve_settings(microsoft, {"tenant": value}))
    assert url == f"https://login.microsoftonline.com/{value}/oauth2/v2.0/token"


@pytest.mark.parametrize("value", ["", "a/b", "..", "a b", "a?b", "a#b", "a%2fb", "é", "x" * 300, "{authority}", ".a"])
def test_what_would_leave_its_place_is_refused(value: str) -> None:
    with pytest.raises(Invalid, match="the setting tenant"):
        resolve_settings(OWN.get("microsoft"), {"tenant": value})


@pytest.mark.parametrize(
    "value",
    ["github.example", "https://GitHub.example", "https://github.example/", "https://g.example/a?b", "https://g.example/#",
     "https://u@g.example", "javascript:alert(1)", "https://g.example/{client_id}", "https://g.example\n"],
)  # fmt: skip
def test_an_origin_brings_nothing_else(value: str) -> None:
    with pytest.raises(Invalid, match="the setting base_url"):
        resolve_settings(OWN.get("github"), {"base_url": value})


def test_settings_that_are_missing_or_unknown_are_named() -> None:
    with pytest.raises(Invalid, match=r"oidc: the setting issuer \(Issuer\) is missing"):
        resolve_settings(OWN.get("oidc"), {})
    with pytest.raises(Invalid, match="there is no setting 'tenent'; there are: authority, tenant"):
        resolve_settings(OWN.get("microsoft"), {"tenent": "x"})


def test_a_github_enterprise_server_is_a_setting() -> None:
    github = OWN.get("github")
    values = resolve_settings(
        github, {"base_url": "https://git.acme.example", "api_url": "https://git.acme.example/api/v3"}
    )
    assert dict(list_outbound_urls(github, values)) == {
        "oauth.token_url": "https://git.acme.example/login/oauth/access_token",
        "oauth.revoke.url": "https://git.acme.example/api/v3/applications/id/grant",
        "account.url": "https://git.acme.example/api/v3/user",
        "key.check_url": "https://git.acme.example/api/v3/user",
        "reach.url": "https://git.acme.example/api/v3/user/installations",
        "api.0": "https://git.acme.example/api/v3",
    }


def test_a_client_id_is_encoded_where_it_is_part_of_a_path() -> None:
    found = fill_url("https://v.example/{client_id}/grant", {}, client_id="a/b?c#d")
    assert found == "https://v.example/a%2Fb%3Fc%23d/grant"


# The file


def test_the_file_is_data_of_the_package() -> None:
    text = (files("broker") / PROVIDERS_FILE).read_text("utf-8")
    assert tomllib.loads(text).keys() == OWN.known.keys()
    assert parse_providers_toml(text) == OWN


def test_a_file_that_was_broken_is_named() -> None:
    with pytest.raises(Invalid, match=r"providers\.toml is not valid TOML"):
        parse_providers_toml("[x")
    with pytest.raises(Invalid, match="x: give a table"):
        parse_providers_toml("x = 1")
