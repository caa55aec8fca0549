"""Permissions of roles: parsing them, and the one function that decides (the heart of the Tool Sieve).

Pure: no I/O, no clock. The gateway asks it to list and to call; the broker asks it before it hands out a lease.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.errors import Invalid
from core.names import MODULE_NAME

MAX_REPORTED_MISMATCHES = 5
PERMISSION_PATTERN = re.compile(rf"\*|{MODULE_NAME}(?:\.\*|:read|\.{MODULE_NAME})")


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of permissions. `deny` takes away from this role only; `priority` orders shared credentials only.
    `tool_exposure` is how tools are shown to its members, who may use the same whatever it is; empty where the role
    does not decide."""

    name: str
    priority: int = 0
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    tool_exposure: str = field(default="", compare=False)

    def permits(self, module: str, tool: str, read_only: bool) -> bool:
        """Check whether this role, taken alone, lets its members use the tool."""
        names = _list_covering_permissions(module, tool, read_only)
        return not self.allow.isdisjoint(names) and self.deny.isdisjoint(names)


@dataclass(frozen=True, slots=True)
class Policy:
    """Input of the decision which tools a user may use: roles, and the tenant's enabled services."""

    roles: tuple[Role, ...] = ()
    services: frozenset[str] = field(default_factory=frozenset[str])
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Asked for at every call; over many roles it would cost more than the decision itself.
        object.__setattr__(self, "_hash", hash((self.roles, self.services)))

    def __hash__(self) -> int:
        return self._hash


def permits(policy: Policy, module: str, tool: str, *, read_only: bool, only_reading: bool = False) -> bool:
    """Check whether the tool exists for the holder of `policy`.

    The union of what the roles permit, within the tenant's enabled services. `only_reading` is a credential that was
    made read-only: writing tools do not exist for it.
    """
    if module not in policy.services or (only_reading and not read_only):
        return False
    return any(role.permits(module, tool, read_only) for role in policy.roles)


def parse_permission(text: str) -> str:
    """Check the form of a permission: ``module.tool``, ``module.*``, ``module:read`` (its read-only tools) or ``*``.

    Raises:
        Invalid: any other form.
    """
    permission = text.strip()
    if not PERMISSION_PATTERN.fullmatch(permission):
        raise Invalid(f"not a permission: {text[:80]!r}; write module.tool, module.*, module:read or *")
    return permission


def check_permissions_installed(permissions: Iterable[str], modules: Mapping[str, Mapping[str, bool]]) -> None:
    """Check that each permission matches a tool that is installed; `modules` has their tools by name, with whether each
    only reads.

    Raises:
        Invalid: one matches nothing, which a slip of the pen looks like.
    """
    mismatches = [
        mismatch for permission in sorted(permissions) if (mismatch := _describe_mismatch(permission, modules))
    ]
    if mismatches:
        omitted = (
            f" and {len(mismatches) - MAX_REPORTED_MISMATCHES} more"
            if len(mismatches) > MAX_REPORTED_MISMATCHES
            else ""
        )
        raise Invalid(
            f"{'; '.join(mismatches[:MAX_REPORTED_MISMATCHES])}{omitted}. "
            "For what is installed later: allow_unknown (--allow-unknown)"
        )


def _describe_mismatch(permission: str, modules: Mapping[str, Mapping[str, bool]]) -> str:
    if permission == "*":
        return ""
    module, _, tool = permission.replace(":", ".", 1).partition(".")
    if module not in modules:
        return f"no module {module} is installed{_suggest_name(module, modules)}"
    if permission.endswith(":read"):
        return "" if any(modules[module].values()) else f"{module} has no tool that only reads"
    return (
        ""
        if tool == "*" or tool in modules[module]
        else f"{module} has no tool {tool}{_suggest_name(tool, modules[module])}"
    )


def _suggest_name(name: str, names: Iterable[str]) -> str:
    similar = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {similar[0]}?" if similar else ""


def build_role(name: str, rows: Iterable[tuple[str, str]], priority: int = 0, tool_exposure: str = "") -> Role:
    """Build a role from its (effect, permission) rows."""
    by_effect: dict[str, set[str]] = {"allow": set(), "deny": set()}
    for effect, permission in rows:
        by_effect[effect].add(permission)
    return Role(name, priority, frozenset(by_effect["allow"]), frozenset(by_effect["deny"]), tool_exposure)


def _list_covering_permissions(module: str, tool: str, read_only: bool) -> tuple[str, ...]:
    names = ("*", f"{module}.*", f"{module}.{tool}")
    return (*names, f"{module}:read") if read_only else names
