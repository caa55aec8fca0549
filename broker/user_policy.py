"""Permissions of a verified user, read by the broker itself, independently of the gateway."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from core import scopes
from core.audit.event import AuditEvent, AuditEventKind
from core.caller import Credential
from core.db import UnitOfWork
from core.permissions import Policy, Role, permits
from core.policy_loader import load_user_roles

ToolHints = Mapping[tuple[str, str], bool]
"""Whether a tool only reads, by module and tool."""

_SERVICES = "SELECT module, settings FROM core.services WHERE tenant_id = $1 AND enabled"


@dataclass(frozen=True, slots=True)
class UserPolicy:
    """A user's roles, the highest priority first, with their ids, and the tenant's enabled services."""

    roles: tuple[tuple[UUID, Role], ...]
    settings_json: Mapping[str, str]

    @property
    def policy(self) -> Policy:
        return Policy(tuple(role for _, role in self.roles), frozenset(self.settings_json))

    def list_permitting_roles(self, module: str, tools: Mapping[str, bool]) -> list[UUID]:
        """The roles that by themselves permit one of `tools` (name: whether it only reads), the highest first."""
        return [
            role_id
            for role_id, role in self.roles
            if any(role.permits(module, tool, read_only) for tool, read_only in tools.items())
        ]

    def get_service_settings(self, module: str) -> Mapping[str, Any]:
        """The tenant's settings of an enabled service."""
        return orjson.loads(self.settings_json[module])


async def load_user_policy(work: UnitOfWork, user_id: UUID) -> UserPolicy:
    """Read a user's roles and the tenant's services."""
    roles = await load_user_roles(work, user_id)
    services = await work.fetch(_SERVICES)
    return UserPolicy(roles, {row["module"]: row["settings"] for row in services})


def is_permitted(access: UserPolicy, caller: Credential, module: str, tool: str, read_only: bool) -> bool:
    """Check whether a tool exists for whom the credential speaks for."""
    return permits(access.policy, module, tool, read_only=read_only, only_reading=caller.read_only)


def is_allowed(access: UserPolicy, caller: Credential, module: str, tool: str, read_only: bool) -> bool:
    """Check whether a tool exists for whom the credential speaks for, and the credential's scopes are for it."""
    needed = scopes.READ if read_only else scopes.WRITE
    return scopes.covers(caller.scopes, needed) and is_permitted(access, caller, module, tool, read_only)


def build_denied_event(caller: Credential, module: str, tool: str) -> AuditEvent:
    """Build the event of a tool that the broker refuses. An honest gateway has asked the same function before: it is a
    change of the last second, or an attack."""
    return AuditEvent(
        at=time.time_ns(),
        kind=AuditEventKind.DENIED,
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        credential_id=caller.id,
        module=module,
        tool=tool,
        outcome="denied",
        detail={"by": "broker"},
    )
