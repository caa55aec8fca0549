"""Roles decide what exists; scopes decide 403: what a credential may do with the tools that exist for its user."""

from core.caller import Caller
from gateway.catalogue import CatalogueTool
from gateway.mcp.errors import InsufficientScope

READ = "mcp:read"
WRITE = "mcp:write"


def demand_scope(caller: Caller, tool: CatalogueTool) -> None:
    """Go on only if the credential's scopes cover the tool; writing covers reading.

    Raises:
        InsufficientScope: names the scope that would do (RFC 6750 §3.1), so that a client can step up.
    """
    needed = READ if tool.tool.hints.read_only else WRITE
    if needed not in caller.credential.scopes and WRITE not in caller.credential.scopes:
        raise InsufficientScope(f'Bearer realm="mcpist", error="insufficient_scope", scope="{needed}"')
