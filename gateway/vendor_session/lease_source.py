"""Interface of credentials as vendor clients use them."""

from collections.abc import Container
from typing import Protocol

from core.http.credential_headers import CredentialScheme
from core.secret import Secret


class LeaseLike(Protocol):
    """Interface of a lease as vendor clients use it."""

    @property
    def access_token(self) -> Secret: ...

    @property
    def scheme(self) -> CredentialScheme: ...

    @property
    def version(self) -> int: ...

    @property
    def origins(self) -> Container[str]:
        """Origins that the credential may be sent to."""
        ...


class LeaseSource(Protocol):
    """Source of one caller's credential for one tool."""

    async def lease(self, rejected_version: int | None = None) -> LeaseLike:
        """Return the credential that counts now; `rejected_version` is one that the vendor has just refused.

        Raises:
            ToolError: there is none, or it is broken; the text says what to do.
        """
        ...
