"""Permissions of a verified user, read by the broker itself, independently of the gateway."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from core.db import Row, UnitOfWork
from core.permissions import Policy, Role, build_role

# No two roles of a tenant share a name, so the order is total; the id comes along for the shared credentials.
_ROLES = """SELECT r.id, r.name, r.priority, p.effect, p.permission
    FROM core.role_assignments a
    JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
    LEFT JOIN core.permissions p ON p.tenant_id = a.tenant_id AND p.role_id = a.role_id
    WHERE a.tenant_id = $1 AND a.user_id = $2
    ORDER BY r.priority DESC, r.name"""
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
    roles = await work.fetch(_ROLES, user_id)
    services = await work.fetch(_SERVICES)
    return UserPolicy(_build_roles(roles), {row["module"]: row["settings"] for row in services})


def _build_roles(rows: Sequence[Row]) -> tuple[tuple[UUID, Role], ...]:
    granted: dict[tuple[UUID, str, int], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        of_role = granted[row["id"], row["name"], row["priority"]]
        if row["permission"] is not None:
            of_role.append((row["effect"], row["permission"]))
    return tuple((role_id, build_role(name, given, priority)) for (role_id, name, priority), given in granted.items())
