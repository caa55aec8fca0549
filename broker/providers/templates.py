"""Placeholders in a provider's URLs and parameters, filled from the settings of an OAuth client or a service.

A setting is checked before it becomes part of a URL: a word cannot leave its place, an origin cannot bring a query.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlsplit

from broker.providers.field_types import LONGEST_URL, PLACEHOLDER
from broker.providers.schema import Provider, ProviderSetting
from core.errors import Invalid

CLIENT_ID = "client_id"

_WORD = re.compile(r"[0-9A-Za-z]([0-9A-Za-z._-]{0,251}[0-9A-Za-z])?")
_URL = re.compile(
    r"https?://[0-9a-z.\-_\[\]:]+(/[0-9A-Za-z\-._~:/@!$&'()*+,;=%]*)?(\?[0-9A-Za-z\-._~:/?@!$&'()*+,;=%]*)?"
)
_EXPECTED = {
    "word": "letters, digits, dots, hyphens and underscores",
    "origin": "https:// with a host in lower case and perhaps a path; no slash at the end, nothing after it",
    "url": "a URL that begins with https:// and a host in lower case; no user and no fragment",
}


def resolve_settings(provider: Provider, values: Mapping[str, str]) -> dict[str, str]:
    """Every setting of the provider, from `given` or by its default.

    Raises:
        Invalid: one is missing, unknown or of another form; the text names it and what is allowed.
    """
    if unknown := values.keys() - provider.settings.keys():
        names = ", ".join(sorted(provider.settings)) or "none"
        raise Invalid(f"{provider.id}: there is no setting {min(unknown)[:40]!r}; there are: {names}")
    return {
        name: _check_setting(provider.id, name, setting, values.get(name))
        for name, setting in provider.settings.items()
    }


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """`template` with its placeholders filled."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)


def fill_url(template: str, values: Mapping[str, str], *, client_id: str = "") -> str:
    """A URL with its placeholders filled; "" where it consists of a setting that is empty."""
    url = fill_template(template, {**values, CLIENT_ID: quote(client_id, safe="")})
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/" if url and not parts.path and not parts.query else url


def fill_parameters(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Parameters with their placeholders filled; one that is empty then is left out."""
    filled = {name: fill_template(template, values) for name, template in templates.items()}
    return {name: value for name, value in filled.items() if value}


def check_placeholders(provider: Provider) -> None:
    """Check that every placeholder is a setting, and stands where it may.

    Raises:
        Invalid: the text names the key.
    """
    for key, template in _list_url_templates(provider):
        _check_known(provider, key, template, extra={CLIENT_ID} if key.startswith("oauth.revoke") else set())
        for match in PLACEHOLDER.finditer(template):
            setting = provider.settings.get(match[1])
            if setting is not None and (setting.kind != "word") != (match.start() == 0):
                raise Invalid(
                    f"{provider.id}.{key}: a setting of the kind word must be inside a URL, any other kind at its start"
                )
    for key, template in _list_value_templates(provider):
        _check_known(provider, key, template)


def list_outbound_urls(provider: Provider, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every URL that MCPist itself would ask, with its key, filled; without those that are left empty."""
    for key, template in _list_url_templates(provider):
        if key not in _FOR_BROWSERS and (url := fill_url(template, values, client_id="id")):
            yield key, url


_FOR_BROWSERS = frozenset(
    {
        "console_url",
        "docs_url",
        "manage_url",
        "oauth.authorize_url",
        "oauth.install_url",
        "reach.help_url",
        "key.help_url",
    }
)


def _check_setting(provider_id: str, name: str, setting: ProviderSetting, text: str | None) -> str:
    value = setting.default if text is None else text
    if value is None:
        raise Invalid(f"{provider_id}: the setting {name} ({setting.title}) is missing: {_EXPECTED[setting.kind]}")
    if value == "" and setting.default == "":
        return value
    if not _is_of_kind(setting.kind, value):
        raise Invalid(f"{provider_id}: the setting {name} ({setting.title}) must be {_EXPECTED[setting.kind]}")
    return value


def _is_of_kind(kind: str, value: str) -> bool:
    if kind == "word":
        return _WORD.fullmatch(value) is not None
    if len(value) > LONGEST_URL or not _URL.fullmatch(value):
        return False
    return kind == "url" or ("?" not in value and not value.endswith("/"))


def _check_known(provider: Provider, key: str, template: str, extra: Iterable[str] = ()) -> None:
    unknown = {match[1] for match in PLACEHOLDER.finditer(template)} - provider.settings.keys() - set(extra)
    if unknown:
        raise Invalid(f"{provider.id}.{key}: {{{min(unknown)}}} is none of its settings")


def _list_url_templates(provider: Provider) -> Iterator[tuple[str, str]]:
    oauth, account, sites, key = provider.oauth, provider.account, provider.sites, provider.key
    templates = {
        "console_url": provider.console_url,
        "docs_url": provider.docs_url,
        "manage_url": provider.manage_url,
        "oauth.authorize_url": oauth and oauth.authorize_url,
        "oauth.install_url": oauth and oauth.install_url,
        "oauth.token_url": oauth and oauth.token_url,
        "oauth.registration_url": oauth and oauth.registration_url,
        "oauth.revoke.url": oauth and oauth.revoke and oauth.revoke.url,
        "account.url": account and account.url,
        "sites.url": sites and sites.url,
        "reach.url": provider.reach and provider.reach.url,
        "reach.help_url": provider.reach and provider.reach.help_url,
        **{f"api.{number}": url for number, url in enumerate(provider.api)},
        "key.check_url": key and key.check_url,
        "key.help_url": key and key.help_url,
    }
    return ((name, url) for name, url in templates.items() if url)


def _list_value_templates(provider: Provider) -> Iterator[tuple[str, str]]:
    oauth = provider.oauth
    if oauth is None:
        return
    yield "oauth.issuer", oauth.issuer
    for table in ("authorize_params", "code_params", "refresh_params"):
        yield from ((f"oauth.{table}.{name}", value) for name, value in getattr(oauth, table).items())
