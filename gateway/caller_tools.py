"""Tools as their callers may use them: whether one exists for a caller, whether the credential has the scope, what the
audit records begin with. It is found out once for all calls, and again when anything about the caller changes."""

from typing import Any

import msgspec

from core.audit.digest import create_argument_hasher
from core.audit.event import AuditEvent, AuditEventKind
from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from core.secret import Secret
from gateway.auth.tool_scopes import has_scope
from gateway.catalogue import CatalogueTool
from gateway.sieve.sieve import Sieve

MAX_CALLER_TOOLS = 5_000

_INTENT = AuditEventKind.CALL_INTENT


class CallerTool(msgspec.Struct, frozen=True, eq=False):
    """A tool that exists for a caller. `hasher` has the key of argument digests in it already; `intent` is the record
    of a call without what each call has of its own."""

    caller: Caller
    tool: CatalogueTool
    has_scope: bool
    hasher: Any
    intent: AuditEvent

    def compute_digest(self, arguments: bytes) -> bytes:
        """Compute the digest of a call's arguments (:func:`core.audit.digest.compute_argument_digest`)."""
        hasher = self.hasher.copy()
        hasher.update(arguments)
        return hasher.digest()


class CallerTools:
    """The tools that callers have used lately. A caller that was verified anew is another object, for whom everything
    is asked again: the authenticator makes one whenever the tenant's generation has changed."""

    def __init__(self, sieve: Sieve, digest_key: Secret) -> None:
        self._sieve = sieve
        self._digest_key = digest_key
        self._found = LruCache[tuple[str, str, str], CallerTool](MAX_CALLER_TOOLS)

    def __len__(self) -> int:
        """Return the number of tools that are kept."""
        return len(self._found)

    def find(self, caller: Caller, module: str, name: str, reader: CatalogueTool | None = None) -> CallerTool | None:
        """Find a tool by its name or alias, or a `reader` of a resource or prompt; None where it does not exist for the
        caller."""
        if reader is not None:
            return self.prepare(caller, reader) if self._sieve.get_view(caller).has(reader) else None
        key = (caller.credential.id, module, name)
        found = self._found.get(key)
        if found is not None and found.caller is caller:
            return found
        tool = self._sieve.get_view(caller).find(module, name)
        if tool is None:
            return None
        found = self.prepare(caller, tool)
        self._found.put(key, found)
        return found

    def prepare(self, caller: Caller, tool: CatalogueTool) -> CallerTool:
        """Prepare a tool that exists for the caller."""
        credential = caller.credential
        intent = AuditEvent(
            at=0,
            kind=_INTENT,
            tenant_id=credential.tenant_id,
            user_id=credential.user_id,
            credential_id=credential.id,
            module=tool.module,
            tool=tool.name,
        )
        hasher = create_argument_hasher(self._digest_key, credential.tenant_id)
        return CallerTool(caller, tool, has_scope(caller, tool), hasher, intent)
