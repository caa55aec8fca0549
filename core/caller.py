"""Verified credential, and the caller that it authenticates."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from core.permissions import Policy
from core.tool_exposure import ToolExposure, choose_exposure_of_roles, load_exposure_setting


@dataclass(frozen=True, slots=True)
class Credential:
    """API token or access token that the broker has verified; holds no secret.

    `generation` is the tenant's, read in the same snapshot: a cache compares it. `tool_result_format` is
    what the client is sent beside a result's structured part, ``short`` or ``full``; empty where the credential does
    not decide. `result_tokens` is how large a result may be; 0 where it does not decide. `tool_exposure` is how tools
    are shown; empty where it does not decide. `audit_pass` lets a gateway append to the tenant's audit log.
    """

    id: str
    kind: str
    tenant_id: UUID
    user_id: UUID
    scopes: frozenset[str]
    read_only: bool = False
    expires_at: datetime | None = None
    client: str = ""
    generation: int = 0
    tool_result_format: str = ""
    result_tokens: int = 0
    tool_exposure: str = ""
    audit_pass: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated user together with the client and scopes that speak for them."""

    credential: Credential
    email: str
    system_role: str
    policy: Policy
    record_arguments: bool = False
    limits_key: str = field(init=False, repr=False, compare=False)
    """Key of the user's limits: all of their credentials count together."""
    tool_exposure: ToolExposure = field(init=False, repr=False, compare=False)
    """How tools are shown where the URL does not say it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits_key", str(self.credential.user_id))
        object.__setattr__(self, "tool_exposure", self._choose_tool_exposure())

    @property
    def tenant_id(self) -> UUID:
        return self.credential.tenant_id

    @property
    def user_id(self) -> UUID:
        return self.credential.user_id

    def _choose_tool_exposure(self) -> ToolExposure:
        own = load_exposure_setting(self.credential.tool_exposure)
        return own or choose_exposure_of_roles(role.tool_exposure for role in self.policy.roles)
