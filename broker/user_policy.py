"""Permissions of a verified user, read by the broker itself, independently of the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from core.db import UnitOfWork
from core.permissions import Policy, Role
from core.policy_loader import load_user_roles

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
