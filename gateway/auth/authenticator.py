"""Authentication of an Authorization header: cached, single-flight, the same refusal for every wrong credential."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from broker.interface import CredentialRefusal, Verifier
from core.audit.failed_auth import AuthFailureLog
from core.audit.passes import AuditPasses
from core.caller import Caller, Credential
from core.concurrency.lru_cache import GenerationCache
from core.concurrency.single_flight import SingleFlight
from core.db import Database
from core.generations import Generations
from core.scopes import MCP_SCOPES, format_scopes
from core.secret import Secret
from core.token_format import MAX_JWT_BYTES, is_jwt, parse_token
from gateway.auth.caller_loader import load_caller, load_callers
from gateway.mcp.errors import Unauthenticated

MAX_CACHED_CALLERS = 10_000
# Verified again at least this often, so that a token's last use is known to within it.
MAX_CACHE_SECONDS = 300.0
MAX_RENEWALS = 128
"""Callers that are verified anew by one request to the broker."""
MAX_RENEWAL_BYTES = 48 * 1024
"""Of their Authorization headers."""
MAX_HEADER_LENGTH = MAX_JWT_BYTES + 16
# The transport adds where a client learns how to get a token. `scope` is what it asks for first (MCP Authorization).
MISSING_CREDENTIAL_CHALLENGE = f'Bearer realm="mcpist", scope="{format_scopes(MCP_SCOPES)}"'
INVALID_TOKEN_CHALLENGE = f'Bearer realm="mcpist", error="invalid_token", scope="{format_scopes(MCP_SCOPES)}"'


@dataclass(frozen=True, slots=True)
class _CachedCaller:
    caller: Caller
    valid_until: float


class CallerAuthenticator:
    """Verifies bearer credentials. What it has verified is kept under the SHA-256 of the header, never the header."""

    def __init__(
        self,
        broker: Verifier,
        database: Database,
        generations: Generations,
        refusals: AuthFailureLog,
        passes: AuditPasses,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._passes = passes
        self._broker = broker
        self._database = database
        self._generations = generations
        self._refusals = refusals
        self._clock = clock
        self._cached_callers = GenerationCache[bytes, _CachedCaller](MAX_CACHED_CALLERS, generations.current)
        self._loading = SingleFlight[bytes, Caller]()

    def __len__(self) -> int:
        """Return the number of cached credentials."""
        return len(self._cached_callers)

    async def __call__(self, authorization: str | None, client: str) -> Caller:
        """Return the caller of an Authorization header.

        Raises:
            Unauthenticated: no credential, or one that does not count; for a client all of those look alike.
            core.errors.LimitReached: this address has tried too many wrong credentials.
            core.errors.Unavailable: the broker or the database is away.
        """
        if not authorization:
            raise Unauthenticated(MISSING_CREDENTIAL_CHALLENGE)
        digest = self.compute_key(authorization)
        cached = self._cached_callers.get(digest)
        if cached is not None:
            if self._clock() < cached.valid_until:
                return cached.caller
            if self._has_expired(cached):
                self._refusals.record_expired()
                raise Unauthenticated(INVALID_TOKEN_CHALLENGE)
        # Once for all requests that wait for the same credential; a cancelled one does not end it.
        return await self._loading.join(digest, lambda: self._load(digest, authorization, client))

    def compute_key(self, authorization: str) -> bytes:
        """Compute the key under which the caller of an Authorization header is kept."""
        return hashlib.sha256(authorization.encode()).digest()

    def find(self, key: bytes) -> Caller | None:
        """Find a caller that was verified and still counts; None where :meth:`__call__` has to look."""
        cached = self._cached_callers.get(key)
        return cached.caller if cached is not None and self._clock() < cached.valid_until else None

    async def renew(self, tenant_id: UUID, authorizations: Sequence[str]) -> Sequence[Caller | None]:
        """Verify callers of one tenant anew, whose Authorization headers were right before; a few requests to the
        broker do for all. Returns them in that order. None: it does not count any more, or has to be verified alone.

        Raises:
            core.errors.Unavailable: the broker or the database is away.
        """
        callers = {one: self.find(self.compute_key(one)) for one in authorizations}
        for batch in _split([one for one, caller in callers.items() if caller is None]):
            callers.update(zip(batch, await self._renew(tenant_id, batch), strict=True))
        return [callers[one] for one in authorizations]

    def is_current(self, caller: Caller) -> bool:
        """Check whether the caller's tenant is unchanged since they were verified."""
        return self._generations.current(caller.tenant_id) == caller.credential.generation

    def _has_expired(self, cached: _CachedCaller) -> bool:
        """Access tokens do so every few minutes, and some clients notice by the 401: the broker need not be asked, and
        it is not counted as a failed attempt."""
        expires_at = cached.caller.credential.expires_at
        return expires_at is not None and expires_at.timestamp() <= self._clock()

    async def _load(self, digest: bytes, authorization: str, client: str) -> Caller:
        if (
            digest not in self._cached_callers
        ):  # one that was good may come from an address that has sent many wrong ones
            self._refusals.admit(client)
        server = self._generations.server
        try:
            credential = await self._verify(authorization, client)
        except Unauthenticated:
            self._cached_callers.discard(digest)
            raise
        result = await load_caller(self._database, credential)
        if result is None:
            raise Unauthenticated(INVALID_TOKEN_CHALLENGE)
        return self._keep(digest, *result, server)

    def _keep(self, digest: bytes, caller: Caller, value: int, server: int) -> Caller:
        """Keep a caller that was read at the generation `value` of the server with that number."""
        generation = self._generations.observe(caller.tenant_id, value, server)
        if generation != value:
            caller = replace(caller, credential=replace(caller.credential, generation=generation))
        cached = _CachedCaller(caller, self._compute_expiry(caller.credential))
        self._cached_callers.put(digest, cached, caller.tenant_id, generation)
        return caller

    async def _renew(self, tenant_id: UUID, authorizations: Sequence[str]) -> Sequence[Caller | None]:
        server = self._generations.server
        verdicts = await self._broker.verify_again(tenant_id, [_get_token(one) for one in authorizations])
        found = {
            number: verdict
            for number, verdict in enumerate(verdicts)
            if verdict is not None and verdict.tenant_id == tenant_id
        }
        if not found:
            return [None] * len(authorizations)
        credentials = list(found.values())
        self._passes.store(tenant_id, credentials[0].audit_pass)
        loaded = dict(zip(found, await load_callers(self._database, tenant_id, credentials), strict=True))
        return [
            None if (read := loaded.get(number)) is None else self._keep(self.compute_key(authorization), *read, server)
            for number, authorization in enumerate(authorizations)
        ]

    async def _verify(self, authorization: str, client: str) -> Credential:
        scheme, token = authorization.partition(" ")[0], _get_token(authorization)
        if (
            scheme.lower() != "bearer"
            or len(authorization) > MAX_HEADER_LENGTH
            or not _is_credential_like(token.reveal())
        ):
            self._refusals.record_malformed(client)
            raise Unauthenticated(INVALID_TOKEN_CHALLENGE)
        verdict = await self._broker.verify(token)
        if isinstance(verdict, CredentialRefusal):
            await self._refusals.record_refused(client, verdict)
            raise Unauthenticated(INVALID_TOKEN_CHALLENGE)
        self._passes.store(verdict.tenant_id, verdict.audit_pass)
        return verdict

    def _compute_expiry(self, credential: Credential) -> float:
        valid_until = self._clock() + MAX_CACHE_SECONDS
        return min(valid_until, credential.expires_at.timestamp()) if credential.expires_at else valid_until


def _split(authorizations: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split into what fits into one request each."""
    batch, size = list[str](), 0
    for one in authorizations:
        if batch and (len(batch) >= MAX_RENEWALS or size + len(one) > MAX_RENEWAL_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one)
    if batch:
        yield batch


def _get_token(authorization: str) -> Secret:
    return Secret(authorization.partition(" ")[2].strip())


def _is_credential_like(token: str) -> bool:
    """Check whether a text may be an API token or an access token; anything else is refused without a query."""
    return parse_token(token) is not None or is_jwt(token)
