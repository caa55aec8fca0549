"""``/deployment/identity-providers``: where people of all tenants sign in; for the operator."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query, Response
from pydantic import Field, SecretStr, StringConstraints

from broker.api.deployment_dependencies import DeploymentDeps
from broker.identity.provider_trial import CheckName, CheckOutcome, ProviderCheck
from broker.identity.stored_providers import ProviderChange, ProviderOverview
from broker.vault.deployment_settings import MAX_SECRET_LENGTH
from core.api.app import create_router
from core.api.dependencies import OperatorRead, OperatorWrite, RecentlySignedInOperator
from core.api.pagination import Cursor, PageLimit, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortText
from core.api.versions import ExpectedVersion, describe_conflict, set_version
from core.secret import Secret
from core.text_folding import fold_text, matches_all_words

routes = create_router("deployment")

PROVIDER_ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,39}$"
ProviderKind = Literal["google", "github", "microsoft", "oidc"]
ProviderIdPath = Annotated[
    str, Path(pattern=PROVIDER_ID_PATTERN, description="Identifier of the identity provider, part of its redirect URI.")
]
Url = Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL_CHARACTERS)]
SourceKey = Annotated[str, msgspec.Meta(pattern="^(?:file|database) [a-z0-9-]{1,40}$")]


class IdentityProviderView(ResponseModel):
    """An identity provider, without its client secret."""

    id: str = Field(description="Identifier of the provider.")
    kind: ProviderKind = Field(description="Kind of the provider, which decides how addresses are trusted.")
    label: str = Field(description="Text of the sign-in button.")
    client_id: str = Field(description="OAuth client identifier at the provider.")
    issuer: str = Field(description="Issuer identifier of an OpenID provider; empty for other kinds.")
    tenant: str = Field(description="Identifier of the Microsoft directory; empty for other kinds.")
    base_url: str = Field(description="Address of the GitHub server or of the Microsoft cloud; empty for other kinds.")
    api_url: str = Field(description="Address of the GitHub server's API; empty for other kinds.")
    groups_claim: str = Field(description="Claim of ID tokens that names groups; empty if none is read.")
    redirect_uri: str = Field(description="Redirect URI to register at the provider.")
    source: Literal["file", "database"] = Field(
        description="Place of the provider: `file` for identity.toml, which can only be changed there."
    )
    in_use: bool = Field(description="False for a stored provider that one of the file with the same identifier hides.")
    created_at: datetime | None = Field(description="Time of creation; null for those of the file.")
    updated_at: datetime | None = Field(description="Time of the latest change; null for those of the file.")


class ProviderCheckView(ResponseModel):
    """One check of a trial."""

    check: CheckName = Field(description="Subject of the check: the metadata, the signing keys or the OAuth client.")
    outcome: CheckOutcome = Field(description="Outcome: `unknown` if the provider does not tell.")
    message: str = Field(description="Explanation, and the remedy of a failure.")
    message_ja: str = Field(description="Japanese text of `message`.")


class IdentityProviderTrialView(ResponseModel):
    """Result of a trial; nothing was stored."""

    passed: bool = Field(description="True if no check failed.")
    checks: list[ProviderCheckView] = Field(description="Checks, in the order in which they were made.")
    redirect_uri: str = Field(description="Redirect URI to register at the provider.")


class SavedIdentityProviderView(ResponseModel):
    """A stored identity provider, and the checks that were made before."""

    provider: IdentityProviderView = Field(description="The provider as it is stored now.")
    checks: list[ProviderCheckView] = Field(description="Checks, in the order in which they were made.")


class IdentityProviderSettings(RequestModel):
    """Settings of an identity provider."""

    kind: ProviderKind = Field(description="Kind of the provider.")
    label: Annotated[str, StringConstraints(max_length=60, pattern=NO_CONTROL_CHARACTERS)] = Field(
        default="", description="Text of the sign-in button; empty for the usual one of its kind."
    )
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=NO_CONTROL_CHARACTERS)] = Field(
        description="OAuth client identifier at the provider."
    )
    client_secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH)] | None = Field(
        default=None,
        description="Client secret; null keeps the stored one if neither the provider's addresses nor `client_id` "
        "change.",
    )
    issuer: Url = Field(default="", description="Issuer identifier; required for the kind `oidc`.")
    tenant: Url = Field(default="", description="Identifier of the directory; required for the kind `microsoft`.")
    base_url: Url = Field(default="", description="Address of a GitHub Enterprise server or a national cloud.")
    api_url: Url = Field(default="", description="Address of the API of a GitHub Enterprise server.")
    groups_claim: Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL_CHARACTERS)] = Field(
        default="", description="Claim of ID tokens that names groups; empty for `groups`, where its kind has any."
    )


class IdentityProviderTrial(IdentityProviderSettings):
    """Settings of an identity provider to try."""

    id: Annotated[str, StringConstraints(pattern=PROVIDER_ID_PATTERN)] = Field(
        description="Identifier of the provider, new or stored."
    )


class IdentityProviderUpsert(IdentityProviderSettings):
    """Settings of an identity provider to store."""

    despite_failures: bool = Field(
        default=False, description="True to store the provider although a check fails, such as while it is away."
    )


@routes.get("/deployment/identity-providers")
async def list_identity_providers(
    caller: OperatorRead,
    parts: DeploymentDeps,
    q: Annotated[ShortText, Query(description="Words that identifier, label, kind, issuer or client contain.")] = "",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[IdentityProviderView]:
    """List identity providers.

    Those of identity.toml come first; both are ordered by identifier. Width, case and kana do not count in `q`.
    """
    words = fold_text(q)
    found = [one for one in await parts.identity_providers.list() if matches_all_words(words, _describe(one))]
    providers = sorted(found, key=_get_key)
    if cursor is not None:
        last: str = decode_cursor(cursor, SourceKey)
        providers = [provider for provider in providers if _get_key(provider) > _order(last)]
    shown, following = split_page(providers, limit, lambda one: f"{one.source} {one.settings.id}")
    return PageOf(items=[_build_view(provider, parts.public_url) for provider in shown], next_cursor=following)


@routes.get("/deployment/identity-providers/{identity_provider_id}")
async def show_identity_provider(
    identity_provider_id: ProviderIdPath, caller: OperatorRead, parts: DeploymentDeps, response: Response
) -> IdentityProviderView:
    """Get an identity provider.

    The stored one of this identifier, else that of identity.toml, which has no `ETag`.
    """
    provider = await parts.identity_providers.get(identity_provider_id)
    set_version(response, provider.version)
    return _build_view(provider, parts.public_url)


@routes.post("/deployment/identity-providers/test")
async def test_identity_provider(
    body: IdentityProviderTrial, caller: OperatorWrite, parts: DeploymentDeps
) -> IdentityProviderTrialView:
    """Try an identity provider without storing it.

    Fetches its metadata and keys, and has the client redeem a made-up code, which tells whether the provider knows the
    client. Whether the redirect URI is registered, only a sign-in shows.
    """
    checks = await parts.identity_providers.test(_build_change(body.id, body))
    return IdentityProviderTrialView(
        passed=all(check.outcome != "failed" for check in checks),
        checks=_build_check_views(checks),
        redirect_uri=_build_redirect_uri(parts.public_url, body.id),
    )


@routes.put("/deployment/identity-providers/{identity_provider_id}")
async def put_identity_provider(
    identity_provider_id: ProviderIdPath,
    body: IdentityProviderUpsert,
    caller: RecentlySignedInOperator,
    parts: DeploymentDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> SavedIdentityProviderView:
    """Store or replace an identity provider.

    It is tried first, and not stored if a check fails. It lets people of all tenants in, within their allow lists, so a
    sign-in within the last ten minutes is required. It counts at once, on every process.
    `If-Match: "v0"` stores a new one only.
    """

    async def load_state() -> IdentityProviderView:
        return _build_view(await parts.identity_providers.get(identity_provider_id), parts.public_url)

    change = _build_change(identity_provider_id, body)
    saving = parts.identity_providers.put(
        caller.actor, change, despite_failures=body.despite_failures, expected_version=expected_version
    )
    saved, checks = await describe_conflict(saving, load_state)
    set_version(response, saved.version)
    return SavedIdentityProviderView(provider=_build_view(saved, parts.public_url), checks=_build_check_views(checks))


@routes.delete("/deployment/identity-providers/{identity_provider_id}", status_code=204)
async def remove_identity_provider(
    identity_provider_id: ProviderIdPath, caller: OperatorWrite, parts: DeploymentDeps
) -> None:
    """Remove a stored identity provider.

    Nobody signs in there any more; sessions that have begun go on.
    """
    await parts.identity_providers.remove(caller.actor, identity_provider_id)


def _describe(provider: ProviderOverview) -> str:
    settings = provider.settings
    return fold_text(f"{settings.id} {settings.label} {settings.kind} {settings.issuer} {settings.client_id}")


def _get_key(provider: ProviderOverview) -> tuple[bool, str]:
    return provider.source == "database", provider.settings.id


def _order(key: str) -> tuple[bool, str]:
    source, _, name = key.partition(" ")
    return source == "database", name


def _build_change(provider_id: str, body: IdentityProviderSettings) -> ProviderChange:
    secret = body.client_secret
    return ProviderChange(
        provider_id,
        {
            name: getattr(body, name)
            for name in ("kind", "label", "client_id", "issuer", "tenant", "base_url", "api_url", "groups_claim")
        },
        None if secret is None else Secret(secret.get_secret_value()),
    )


def _build_view(provider: ProviderOverview, public_url: str) -> IdentityProviderView:
    settings = provider.settings
    return IdentityProviderView(
        id=settings.id,
        kind=settings.kind,
        label=settings.label,
        client_id=settings.client_id,
        issuer=settings.issuer,
        tenant=settings.tenant,
        base_url=settings.base_url,
        api_url=settings.api_url,
        groups_claim=settings.groups_claim,
        redirect_uri=_build_redirect_uri(public_url, settings.id),
        source=provider.source,
        in_use=provider.in_use,
        created_at=provider.created_at,
        updated_at=provider.updated_at,
    )


def _build_check_views(checks: Sequence[ProviderCheck]) -> list[ProviderCheckView]:
    return [ProviderCheckView.model_validate(check) for check in checks]


def _build_redirect_uri(public_url: str, provider_id: str) -> str:
    return f"{public_url}/sign-in/callback/{provider_id}"
