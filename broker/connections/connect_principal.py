"""The principal that connects an account: a browser session, or a caller of the API."""

from typing import Protocol
from uuid import UUID

from core.directory.audit_trail import Actor


class ConnectPrincipal(Protocol):
    """Whoever it is for. `system_role` is that of this moment."""

    @property
    def tenant_id(self) -> UUID: ...

    @property
    def user_id(self) -> UUID: ...

    @property
    def system_role(self) -> str: ...

    @property
    def actor(self) -> Actor: ...
