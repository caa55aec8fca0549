"""What a client needs to know of credentials: nearly nothing."""

from collections.abc import Container
from typing import Protocol

from core.http.credential_headers import CredentialScheme
from core.secret import Secret


class LeaseLike(Protocol):
    """What is used of a lease."""

    @property
    def access_token(self) -> Secret: ...

    @property
    def scheme(self) -> CredentialScheme: ...

    @property
    def version(self) -> int: ...

    @property
    def origins(self) -> Container[str]:
        """Where the credential may be sent."""
        ...


class LeaseSource(Protocol):
    """Where one caller's credential for one tool comes from."""

    async def lease(self, rejected_version: int | None = None) -> LeaseLike:
        """The credential that counts now; `rejected_version` is one that the vendor has just refused.

        Raises:
            ToolError: there is none, or it is broken; the text says what to do.
        """
        ...
