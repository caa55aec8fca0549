"""Identity providers of the deployment, as the operator sees them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from cli.client.admin_api import AdminApiClient
from core.secret import Secret

PATH = "/deployment/identity-providers"
MISSING = "the database has no such identity provider; `mcpist identity-provider list` shows them"


class IdentityProviderEntry(msgspec.Struct, frozen=True):
    """One of them, without its secret."""

    id: str
    kind: str
    label: str
    client_id: str
    issuer: str
    tenant: str
    base_url: str
    api_url: str
    groups_claim: str
    redirect_uri: str
    source: str
    in_use: bool
    created_at: datetime | None
    updated_at: datetime | None


class TrialCheck(msgspec.Struct, frozen=True):
    """One check of a trial."""

    check: str
    outcome: str
    message: str


class IdentityProviderTrialResult(msgspec.Struct, frozen=True):
    """What a trial has found; nothing was stored."""

    passed: bool
    checks: list[TrialCheck]
    redirect_uri: str


class SavedIdentityProvider(msgspec.Struct, frozen=True):
    """A stored provider, and the checks that were made before."""

    provider: IdentityProviderEntry
    checks: list[TrialCheck]


def fetch_identity_providers(api: AdminApiClient) -> list[IdentityProviderEntry]:
    """Fetch all of them."""
    return list(api.iterate(PATH, IdentityProviderEntry))


def try_identity_provider(
    api: AdminApiClient, provider_id: str, settings: Mapping[str, str], secret: Secret | None
) -> IdentityProviderTrialResult:
    """Try one; nothing is stored."""
    body = {"id": provider_id, **_build_body(settings, secret)}
    return api.create(f"{PATH}/test", IdentityProviderTrialResult, body)[0]


def put_identity_provider(
    api: AdminApiClient, provider_id: str, settings: Mapping[str, str], secret: Secret | None, *, despite_failures: bool
) -> SavedIdentityProvider:
    """Store one, after its trial."""
    body = {**_build_body(settings, secret), "despite_failures": despite_failures}
    response = api.change("PUT", f"{PATH}/{{}}", body, provider_id)
    return msgspec.convert(response.json(), SavedIdentityProvider)


def remove_identity_provider(api: AdminApiClient, provider_id: str) -> None:
    """Forget one."""
    api.delete(f"{PATH}/{{}}", provider_id, missing=MISSING)


def _build_body(settings: Mapping[str, str], secret: Secret | None) -> dict[str, Any]:
    return {**settings, "client_secret": None if secret is None else secret.reveal()}
