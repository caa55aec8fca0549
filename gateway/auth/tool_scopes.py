"""Roles decide what exists; scopes decide 403: what a credential may do with the tools that exist for its user."""

from core.caller import Caller
from core.scopes import READ, WRITE, covers, format_scopes
from gateway.catalogue import CatalogueTool
from gateway.mcp.errors import InsufficientScope


def get_required_scope(tool: CatalogueTool) -> str:
    """Return the least scope that a tool asks for."""
    return READ if tool.read_only else WRITE


def has_scope(caller: Caller, tool: CatalogueTool) -> bool:
    """Check whether the credential's scopes cover the tool; writing covers reading."""
    return covers(caller.credential.scopes, get_required_scope(tool))


def require_scope(caller: Caller, tool: CatalogueTool, operation: frozenset[str] = frozenset()) -> None:
    """Go on only if the credential has the scope for the tool.

    `operation` is what all that was asked for needs, where the tool is not alone: a client that steps up does it once.

    Raises:
        InsufficientScope: names the scopes that would do (RFC 6750 §3.1), so that a client can step up.
    """
    if has_scope(caller, tool):
        return
    scopes = format_scopes(operation | {get_required_scope(tool)})
    raise InsufficientScope(
        f'Bearer realm="mcpist", error="insufficient_scope", scope="{scopes}", '
        f'error_description="this needs the scope {scopes}"'
    )
