"""Identity providers whose assertions a tenant accepts."""

import msgspec

from broker.authorization_server.trusted_issuers import TrustedIssuer
from cli.client.admin_api import AdminApiClient


def trust_issuer(api: AdminApiClient, issuer: str, jwks_uri: str) -> TrustedIssuer:
    """Trust an issuer; without `jwks_uri` its metadata says where its keys are."""
    response = api.change("PUT", "/oauth/issuers", {"issuer": issuer, "jwks_uri": jwks_uri or None})
    return msgspec.json.decode(response.body, type=TrustedIssuer)


def fetch_issuers(api: AdminApiClient) -> list[TrustedIssuer]:
    """Return all trusted issuers, ordered by name."""
    return list(api.iterate("/oauth/issuers", TrustedIssuer))


def remove_issuer(api: AdminApiClient, issuer: str) -> None:
    """Stop trusting an issuer."""
    missing = f"this tenant does not trust {issuer[:200]!r}; `mcpist issuer list` shows the trusted ones"
    api.delete("/oauth/issuers", issuer=issuer, missing=missing)
