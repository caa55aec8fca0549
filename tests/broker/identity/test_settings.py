"""The identity file: what it may say, and that its errors name keys and never secrets."""

from pathlib import Path

import pytest

from broker.identity.settings import IdentitySettings, load_identity_settings
from core.errors import Invalid

COMPANY = """
[[providers]]
id = "company"
kind = "oidc"
label = "Example Inc."
client_id = "mcpist"
client_secret = "hush-hush"
issuer = "https://id.example.com"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "identity.toml"


def written(file: Path, text: str) -> IdentitySettings:
    file.touch(mode=0o600)
    file.write_text(text)
    return load_identity_settings(file)


def problem(file: Path, text: str) -> str:
    with pytest.raises(Invalid) as caught:
        written(file, text)
    return str(caught.value)


def test_without_a_file_our_own_server_runs_and_no_provider_is_there(file: Path) -> None:
    settings = load_identity_settings(file)
    assert settings.providers == ()
    assert settings.external is None
    assert settings.authorization_server.enabled
    assert not settings.authorization_server.dynamic_registration
    assert settings.authorization_server.access_token_minutes == 10
    assert written(file, "") == settings


def test_providers_with_the_defaults_of_their_kind(file: Path) -> None:
    settings = written(
        file,
        COMPANY
        + """
[[providers]]
id = "google"
kind = "google"
client_id = "g"
client_secret = "s"
[[providers]]
id = "hub"
kind = "github"
client_id = "h"
client_secret = "s"
base_url = "https://github.example.com/"
api_url = "https://github.example.com/api/v3"
[[providers]]
id = "ms"
kind = "microsoft"
client_id = "m"
client_secret = "s"
tenant = "9f3e9a52-1111-4222-8333-444455556666"
[authorization_server]
dynamic_registration = true
client_metadata_hosts = ["claude.ai", "*.example.com"]
access_token_minutes = 5
""",
    )
    company, google, hub, microsoft = settings.providers
    assert (company.label, company.issuer, company.client_secret.reveal()) == (
        "Example Inc.",
        "https://id.example.com",
        "hush-hush",
    )
    assert (google.label, google.issuer) == ("Google", "https://accounts.google.com")
    assert (hub.base_url, hub.api_url) == ("https://github.example.com", "https://github.example.com/api/v3")
    assert microsoft.base_url == "https://login.microsoftonline.com"
    assert settings.authorization_server.client_metadata_hosts == ("claude.ai", "*.example.com")
    assert "hush-hush" not in repr(settings)


EXTERNAL = '[external]\nissuer = "https://as.example.com"\njwks_uri = "https://as.example.com/jwks"\n'


def test_whom_to_ask_is_one_line(file: Path) -> None:
    for contact in ("it@acme.example", "", "Ada, room 5"):
        assert written(file, f'contact = "{contact}"').contact == contact
    for wrong in ("x" * 201, " it ", "a\\nb"):
        assert "contact" in problem(file, f'contact = "{wrong}"')


def test_another_authorization_server_switches_ours_off(file: Path) -> None:
    settings = written(file, EXTERNAL + '[external.claims]\nuser = "sub"\n[external.tenants]\n"9f3e" = "acme"\n')
    assert settings.external is not None
    assert (settings.external.claims.tenant, settings.external.claims.user) == ("tid", "sub")
    assert settings.external.tenants == {"9f3e": "acme"}
    assert not settings.authorization_server.enabled
    told = problem(file, EXTERNAL + "[authorization_server]\nenabled = true\n")
    assert "authorization_server.enabled must be false" in told


@pytest.mark.parametrize(
    ("changed", "to", "told"),
    [
        ("https://id.example.com", "http://id.example.com", "providers.0.issuer"),
        ("https://id.example.com", "https://user@id.example.com", "providers.0.issuer"),
        ("https://id.example.com", "https://id.example.com/#x", "providers.0.issuer"),
        ("https://id.example.com", "", "issuer is missing"),
        ('"company"', '"../x"', "providers.0.id"),
        ('"oidc"', '"saml"', "providers.0.kind"),
        ('"hush-hush"', '" hush-hush"', "providers.0.client_secret"),
        ('"hush-hush"', "7", "providers.0.client_secret"),
        ('client_secret = "hush-hush"', "", "providers.0.client_secret: it is missing"),
        ("label =", "lable =", "providers.0.lable: there is no such key"),
        ("label =", 'tenant = "x"\nlabel =', "tenant is not a key of kind oidc"),
        ("[[providers]]", "[providers]", "providers"),
    ],
)
def test_a_wrong_key_is_named_and_no_secret_repeated(file: Path, changed: str, to: str, told: str) -> None:
    assert changed in COMPANY
    text = problem(file, COMPANY.replace(changed, to))
    assert told in text
    assert "hush" not in text


def test_two_providers_cannot_share_an_id(file: Path) -> None:
    assert "the same id" in problem(file, COMPANY + COMPANY)


@pytest.mark.parametrize("tenant", ["", "common", "Organizations", "consumers"])
def test_microsoft_is_pinned_to_one_directory(file: Path, tenant: str) -> None:
    text = f'[[providers]]\nid = "m"\nkind = "microsoft"\nclient_id = "m"\nclient_secret = "s"\ntenant = "{tenant}"\n'
    assert "one directory" in problem(file, text)


@pytest.mark.parametrize(
    "text",
    [
        "[authorization_server]\naccess_token_minutes = 0",
        "[authorization_server]\naccess_token_minutes = 61",
        '[authorization_server]\nenabled = "yes"',
        "[authorization_server]\nclient_metadata_hosts = [1]",
        '[authorization_server]\nclient_metadata_hosts = "claude.ai"',
        '[authorization_server]\nclient_metadata_hosts = ["https://claude.ai"]',
        '[authorization_server]\nclient_metadata_hosts = ["claude.ai/"]',
        '[authorization_server]\nclient_metadata_hosts = ["claude.ai:443"]',
        '[authorization_server]\nclient_metadata_hosts = [""]',
        "[unknown]\nx = 1",
    ],
)
def test_values_out_of_bounds(file: Path, text: str) -> None:
    assert str(file) in problem(file, text)


def test_documents_are_off_by_either_key(file: Path) -> None:
    def taken(lines: str) -> bool:
        trust = written(file, f"[authorization_server]\n{lines}").authorization_server.trust
        return trust is not None and bool(trust.client_metadata_hosts)

    assert written(file, "[authorization_server]\n").authorization_server.trust is None
    assert taken('client_metadata_hosts = ["Claude.ai", "*", "127.0.0.1"]')
    assert not taken("client_metadata_hosts = []")
    assert not taken('client_metadata = false\nclient_metadata_hosts = ["claude.ai"]')


def test_what_is_no_toml_is_told_with_its_place_and_without_its_text(file: Path) -> None:
    told = problem(file, 'client_secret = "hush-hush\n')
    assert "not valid TOML (at line 1" in told
    assert "hush" not in told


def test_a_file_that_others_can_read_is_refused(file: Path) -> None:
    written(file, COMPANY)
    file.chmod(0o640)
    with pytest.raises(Invalid, match="can be read by others"):
        load_identity_settings(file)


def test_a_huge_file_is_refused(file: Path) -> None:
    assert "larger than" in problem(file, "#" * 300_000)
