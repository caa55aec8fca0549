"""Trusted issuers of a tenant."""

import msgspec

from broker.authorization_server.trusted_issuers import TrustedIssuer
from cli.client.admin_api import AdminApiClient


def trust_issuer(api: AdminApiClient, issuer: str, jwks_uri: str) -> TrustedIssuer:
    """Accept an issuer's assertions; its keys are at `jwks_uri`, or where its metadata says."""
    answer = api.change("PUT", "/oauth/issuers", {"issuer": issuer, "jwks_uri": jwks_uri})
    return msgspec.convert(answer.json(), TrustedIssuer)


def fetch_issuers(api: AdminApiClient) -> list[TrustedIssuer]:
    """Fetch all trusted issuers, by name."""
    return list(api.iterate("/oauth/issuers", TrustedIssuer))


def remove_issuer(api: AdminApiClient, issuer: str) -> None:
    """Accept an issuer's assertions no more."""
    api.delete("/oauth/issuers", issuer=issuer)
