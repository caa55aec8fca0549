"""Microsoft Entra ID: one directory, and no address that only its own administrator vouches for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.identity.providers.claims import clean_person_name, normalize_email
from broker.identity.providers.identity_provider import SignInFailed, VerifiedAccount
from broker.identity.providers.provider_metadata import ProviderMetadata

_DIRECTORY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TRUE = (True, 1, "1", "true", "True")


@dataclass(frozen=True, slots=True)
class MicrosoftProfile:
    """`tenant` is the directory's id, or a domain of it.

    Whoever runs a directory can write any address into its users' `email` and `preferred_username`. `email` counts only
    where the optional claim `xms_edov` says that the owner of its domain has been verified
    (learn.microsoft.com/entra/identity-platform/optional-claims-reference); `preferred_username` never does.
    """

    base_url: str
    tenant: str
    asks_userinfo: bool = False

    @property
    def issuer(self) -> str:
        return f"{self.base_url}/{self.tenant}/v2.0"

    def is_issuer(self, named: str) -> bool:
        directory = self._get_directory(named)
        return bool(directory) and (not _DIRECTORY.fullmatch(self.tenant.lower()) or directory == self.tenant.lower())

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        if claims.get("tid") != self._get_directory(metadata.issuer):
            raise SignInFailed("provider", "id_token tid")
        email = normalize_email(claims.get("email")) if claims.get("xms_edov") in _TRUE else ""
        name = clean_person_name(claims.get("name"))
        return VerifiedAccount(metadata.issuer, str(claims["sub"]), email, bool(email), name)

    def _get_directory(self, issuer: str) -> str:
        """The directory that an issuer of this cloud is for; empty where it is none."""
        found = issuer.removeprefix(f"{self.base_url}/").removesuffix("/v2.0")
        matches = issuer == f"{self.base_url}/{found}/v2.0" and _DIRECTORY.fullmatch(found)
        return found if matches else ""
