"""Google: an OpenID provider that also has accounts with addresses of domains that it does not run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.identity.providers.claims import open_id_account
from broker.identity.providers.metadata import Metadata
from broker.identity.providers.provider import VerifiedAccount

OWN_DOMAINS = ("gmail.com", "googlemail.com")


@dataclass(frozen=True, slots=True)
class Google:
    """Anybody may once have made a Google account of a company's address, and keep it when they leave. Google is sure
    only of its own domains and of a Workspace's, which the claim `hd` names
    (developers.google.com/identity/gsi/web/guides/verify-google-id-token)."""

    issuer: str
    asks_userinfo: bool = True

    def is_issuer(self, named: str) -> bool:
        return named == self.issuer

    def account(self, metadata: Metadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        domain = str(claims.get("email", "")).rpartition("@")[2].lower()
        workspace = isinstance(claims.get("hd"), str) and bool(claims["hd"])
        return open_id_account(metadata.issuer, claims, trusted=workspace or domain in OWN_DOMAINS)
