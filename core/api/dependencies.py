"""Callers as types of route parameters; :class:`core.api.authorization.RouteAccess` explains each."""

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query

from core.api.authorization import allow
from core.api.principal import Principal
from core.errors import Forbidden, Invalid
from core.scopes import ADMIN_READ, ADMIN_WRITE, READ, WRITE, covers

CurrentUser = Annotated[Principal, Depends(allow("user"))]
"""Any signed-in person, whatever their credential may do."""

CurrentUserRead = Annotated[Principal, Depends(allow("user", scope=(READ, ADMIN_READ)))]
"""A person who reads what is theirs."""

WatchingUser = Annotated[Principal, Depends(allow("user", scope=(READ, ADMIN_READ), passive=True))]
"""A person whose page waits for changes."""

CurrentUserWrite = Annotated[Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE)))]
"""A person who changes what is theirs."""

RecentlySignedInUser = Annotated[Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE), recent_sign_in=True))]
"""A person who has just signed in, for what makes credentials of theirs."""

OwnerRead = Annotated[Principal, Depends(allow("user", scope=(READ, ADMIN_READ), operator_allowed=True))]
"""A person who reads what is theirs, or whoever administers it: see :func:`resolve_owner`."""

OwnerWrite = Annotated[Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE), operator_allowed=True))]
"""A person who changes what is theirs, or whoever administers it."""

CredentialCreator = Annotated[
    Principal, Depends(allow("user", scope=(WRITE, ADMIN_WRITE), recent_sign_in=True, operator_allowed=True))
]
"""A person who has just signed in, for what makes credentials of theirs; or the operator, for a user's: see
:func:`resolve_credential_owner`."""

AdminRead = Annotated[Principal, Depends(allow("admin", scope=ADMIN_READ))]
AdminWrite = Annotated[Principal, Depends(allow("admin", scope=ADMIN_WRITE))]
RecentlySignedInAdmin = Annotated[Principal, Depends(allow("admin", scope=ADMIN_WRITE, recent_sign_in=True))]
"""An administrator who has just signed in, for what makes credentials that speak for others."""

OperatorRead = Annotated[Principal, Depends(allow("operator", scope=ADMIN_READ))]
OperatorWrite = Annotated[Principal, Depends(allow("operator", scope=ADMIN_WRITE))]
RecentlySignedInOperator = Annotated[Principal, Depends(allow("operator", scope=ADMIN_WRITE, recent_sign_in=True))]
"""An operator who has just signed in, for what lets others in or sends what MCPist knows elsewhere."""


def resolve_owner(caller: Principal, user: UUID | None, scope: str) -> UUID:
    """Resolve the user whose things are asked for: the caller unless another is named, which takes an administrator's
    `scope`.

    Raises:
        Forbidden: another is named, and the caller is no administrator.
        Invalid: the operator has named none.
    """
    if caller.is_operator_credential:
        return _require_user(user)
    if user in (None, caller.user_id):
        return caller.user_id
    if not caller.is_administrator_with(scope):
        raise Forbidden("only administrators may see what belongs to others")
    return user


def resolve_credential_owner(caller: Principal, user: UUID | None) -> UUID:
    """Resolve the user for whom a credential is made: the caller. The operator names one.

    Raises:
        Forbidden: a person names another.
        Invalid: the operator has named none.
    """
    if caller.is_operator_credential:
        return _require_user(user)
    if user not in (None, caller.user_id):
        raise Forbidden("only the operator of this MCPist makes credentials for others; leave out user_id")
    return caller.user_id


def check_grantable_scopes(caller: Principal, scopes: Iterable[str]) -> None:
    """Check that the caller may give a credential these scopes: their own. The operator may give any; what the owner of
    the credential may have is checked besides.

    Raises:
        Forbidden: a scope is not the caller's.
    """
    if caller.is_operator_credential:
        return
    for scope in scopes:
        if not covers(caller.scopes, scope):
            raise Forbidden(f"you do not have {scope} yourself")


def _require_user(user: UUID | None) -> UUID:
    if user is None:
        raise Invalid("the operator's credential is no user's: name the user")
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
    """Resolve the user whose things are asked for, as :func:`resolve_owner` has it for reading; None for those of
    everyone.

    Raises:
        Forbidden: the caller is no administrator, and asks for more than their own.
    """
    if not all_owners:
        return resolve_owner(caller, user, ADMIN_READ)
    if not caller.is_administrator_with(ADMIN_READ):
        raise Forbidden("only an administrator sees everybody's")
    return None
