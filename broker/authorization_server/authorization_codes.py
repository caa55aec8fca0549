"""Authorization codes: bound to client, redirect URI and PKCE challenge, good once and for a minute (RFC 6749 §4.1.2).

Whoever presents a code proves first that it is theirs. Only then does it matter that the code was used before: one that
leaked through a log or a browser's history can neither be used up nor turned against the grant by whoever finds it.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.authorization_server.errors import OAuthError
from broker.identity.random_secrets import hash_of, new_secret
from core.db import Row, UnitOfWork
from core.secret import Secret

CODE_LIFETIME = timedelta(seconds=60)
_VERIFIER = re.compile(r"[0-9A-Za-z._~-]{43,128}")
_CHALLENGE = re.compile(r"[0-9A-Za-z_-]{43}")


@dataclass(frozen=True, slots=True)
class Approval:
    """Authorization that a person has approved.

    `challenge` is the client's PKCE challenge (S256); `authenticated_at` is the time of the person's sign-in.
    """

    tenant_id: UUID
    user_id: UUID
    client_id: str
    client_name: str
    redirect_uri: str
    scopes: frozenset[str]
    resource: str
    challenge: str
    authenticated_at: datetime


@dataclass(frozen=True, slots=True)
class CodeProof:
    """How a client shows that a code is its own. `redirect_uri` is None where it sends none, as OAuth 2.1 allows."""

    client_id: str
    redirect_uri: str | None
    verifier: str


@dataclass(frozen=True, slots=True)
class CodeReuse:
    """Second use of a code; the grant of the first use must be revoked."""

    grant_id: UUID


def is_challenge(text: str) -> bool:
    """Check whether a text has the form of an S256 challenge (RFC 7636 §4.2)."""
    return _CHALLENGE.fullmatch(text) is not None


def is_verifier(text: str) -> bool:
    """Check whether a text has the form of a code verifier (RFC 7636 §4.1)."""
    return _VERIFIER.fullmatch(text) is not None


def compute_code_challenge(verifier: str) -> str:
    """Compute the S256 challenge of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def create_code(work: UnitOfWork, approval: Approval, now: datetime) -> Secret:
    """Create a code for an approved request."""
    code = new_secret()
    await work.execute(
        _PUT,
        hash_of(code),
        approval.user_id,
        approval.client_id,
        approval.client_name,
        approval.redirect_uri,
        sorted(approval.scopes),
        approval.resource,
        approval.challenge,
        approval.authenticated_at,
        now,
        now + CODE_LIFETIME,
    )
    return code


async def consume_code(
    work: UnitOfWork, code_hash: bytes, proof: CodeProof, grant_id: UUID, now: datetime
) -> Approval | CodeReuse:
    """Use a code up for the grant `grant_id`, which the caller makes in the same transaction.

    Raises:
        OAuthError: invalid_grant; the code stays as it was.
    """
    row = await work.fetchrow(_FIND, code_hash)
    if row is None:
        raise OAuthError("invalid_grant", "unknown or expired authorization code")
    _check_proof(row, proof)
    # The one statement that decides: of several uses at once the others wait here, then find the code consumed.
    if await work.fetchval(_CONSUME, code_hash, now, grant_id) is not None:
        return _build_approval(work.tenant_id, row)
    before: UUID | None = await work.fetchval(_GRANT, code_hash)
    if before is None:
        raise OAuthError("invalid_grant", "authorization code expired; it is valid for one minute")
    return CodeReuse(before)


def _check_proof(row: Row, proof: CodeProof) -> None:
    if row["client_id"] != proof.client_id:
        raise OAuthError("invalid_grant", "authorization code was issued to another client")
    if proof.redirect_uri is not None and row["redirect_uri"] != proof.redirect_uri:
        raise OAuthError("invalid_grant", "redirect_uri does not match the one of the authorization request")
    if not hmac.compare_digest(row["challenge"].encode(), compute_code_challenge(proof.verifier).encode()):
        raise OAuthError(
            "invalid_grant", "code_verifier does not match the code_challenge of the authorization request"
        )


def _build_approval(tenant_id: UUID, row: Row) -> Approval:
    return Approval(
        tenant_id,
        row["user_id"],
        row["client_id"],
        row["client_name"],
        row["redirect_uri"],
        frozenset(row["scopes"]),
        row["resource"],
        row["challenge"],
        row["authenticated_at"],
    )


_PUT = """INSERT INTO auth.codes (tenant_id, hash, user_id, client_id, client_name, redirect_uri, scopes, resource,
    challenge, authenticated_at, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"""
_FIND = """SELECT user_id, client_id, client_name, redirect_uri, scopes, resource, challenge, authenticated_at
    FROM auth.codes WHERE tenant_id = $1 AND hash = $2"""
_CONSUME = """UPDATE auth.codes SET consumed_at = $3, grant_id = $4
    WHERE tenant_id = $1 AND hash = $2 AND consumed_at IS NULL AND expires_at > $3 RETURNING grant_id"""
_GRANT = "SELECT grant_id FROM auth.codes WHERE tenant_id = $1 AND hash = $2 AND consumed_at IS NOT NULL"
