"""Google: an OpenID provider that also has accounts with addresses of domains that it does not run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.identity.providers.claims import build_openid_account
from broker.identity.providers.identity_provider import VerifiedAccount
from broker.identity.providers.provider_metadata import ProviderMetadata

GOOGLE_DOMAINS = ("gmail.com", "googlemail.com")


@dataclass(frozen=True, slots=True)
class GoogleProfile:
    """Anybody may once have made a Google account of a company's address, and keep it when they leave. Google is sure
    only of its own domains and of a Workspace's, which the claim `hd` names
    (developers.google.com/identity/gsi/web/guides/verify-google-id-token)."""

    issuer: str
    asks_userinfo: bool = True

    def is_issuer(self, named: str) -> bool:
        return named == self.issuer

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        domain = str(claims.get("email", "")).rpartition("@")[2].lower()
        workspace = isinstance(claims.get("hd"), str) and bool(claims["hd"])
        return build_openid_account(metadata.issuer, claims, trusted=workspace or domain in GOOGLE_DOMAINS)
