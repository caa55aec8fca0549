"""Callers as types of route parameters; :class:`core.api.authorization.RouteAccess` explains each."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query

from core.api.authorization import allow
from core.api.principal import Principal
from core.errors import Forbidden
from core.scopes import ADMIN_READ, ADMIN_WRITE, READ, WRITE

CurrentUser = Annotated[Principal, Depends(allow("user"))]
"""Any signed-in person, whatever their credential may do."""

CurrentUserRead = Annotated[Principal, Depends(allow("user", scope=(READ, ADMIN_READ)))]
"""A person who reads what is theirs."""

CurrentUserWrite = Annotated[Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE)))]
"""A person who changes what is theirs."""

RecentlySignedInUser = Annotated[Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE), recent_sign_in=True))]
"""A person who has just signed in, for what makes credentials of theirs."""

AdminRead = Annotated[Principal, Depends(allow("admin", scope=ADMIN_READ))]
AdminWrite = Annotated[Principal, Depends(allow("admin", scope=ADMIN_WRITE))]
RecentlySignedInAdmin = Annotated[Principal, Depends(allow("admin", scope=ADMIN_WRITE, recent_sign_in=True))]
"""An administrator who has just signed in, for what makes credentials that speak for others."""

OperatorRead = Annotated[Principal, Depends(allow("operator", scope=ADMIN_READ))]
OperatorWrite = Annotated[Principal, Depends(allow("operator", scope=ADMIN_WRITE))]


def resolve_owner(caller: Principal, user: UUID | None, scope: str) -> UUID:
    """The user whose things are asked for: the caller unless another is named, which takes an administrator's `scope`.

    Raises:
        Forbidden: another is named, and the caller is no administrator.
    """
    if user in (None, caller.user_id):
        return caller.user_id
    if not caller.is_administrator_with(scope):
        raise Forbidden("only administrators may see what belongs to others")
    return user


UserPath = Annotated[UUID, Path(description="Identifier of the user.")]
RolePath = Annotated[UUID, Path(description="Identifier of the role.")]
UserFilter = Annotated[
    UUID | None, Query(description="Identifier of the user to ask about (administrators only); default the caller.")
]
AllOwners = Annotated[
    bool, Query(description="Include those of all users and roles of the tenant (administrators only).")
]


def resolve_owner_filter(caller: Principal, user: UUID | None, all_owners: bool) -> UUID | None:
    """The user whose things are asked for, as :func:`whose` has it for reading; None for those of everyone.

    Raises:
        Forbidden: the caller is no administrator, and asks for more than their own.
    """
    owner = resolve_owner(caller, user, ADMIN_READ)
    if not all_owners:
        return owner
    if not caller.is_administrator_with(ADMIN_READ):
        raise Forbidden("only an administrator sees everybody's")
    return None
