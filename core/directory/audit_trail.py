"""Actors of administrative changes, and how a change is recorded."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent, AuditEventKind
from core.audit.transactional import append_in_transaction
from core.audit.truncation import MAX_DETAIL_TEXT_LENGTH
from core.db import UnitOfWork

MAX_TEXTS_PER_EVENT = 12
"""Texts of a list in one event, which has up to 16 details."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever makes an administrative change: a user, or the operator at the command line (no user id). `request_id` is
    that of the request which makes it, if any."""

    name: str
    user_id: UUID | None = None
    credential_id: str = ""
    request_id: str = ""


async def audit_change(work: UnitOfWork, actor: Actor, kind: AuditEventKind, **detail: str | int) -> None:
    """Append the audit record of a change to the change's own transaction: both happen or neither does."""
    await append_in_transaction(work, _build_event(work.tenant_id, actor, kind, detail))


async def audit_list_change(
    work: UnitOfWork, actor: Actor, kind: AuditEventKind, name: str, values: Sequence[str], **detail: str | int
) -> None:
    """Append an event as :func:`audit_change` does, for a change of several `values`, with as few events as can hold
    all of them: a long list must not flood the log. One value is stored as the detail `name`; several as `count` and as
    the details ``<name>s``, ``<name>s_2`` and so on, separated by spaces. No value may contain a space.
    """
    if len(values) == 1:
        await audit_change(work, actor, kind, **detail, **{name: values[0]})
        return
    lines = list(_join_values(values))
    for texts in (lines[at : at + MAX_TEXTS_PER_EVENT] for at in range(0, len(lines), MAX_TEXTS_PER_EVENT)):
        numbered = {f"{name}s_{n}" if n > 1 else f"{name}s": text for n, text in enumerate(texts, 1)}
        await audit_change(work, actor, kind, **detail, count=sum(len(text.split(" ")) for text in texts), **numbered)


async def audit_deployment_change(work: UnitOfWork, actor: Actor, kind: AuditEventKind, **detail: str | int) -> None:
    """Append an event as :func:`audit_change` does, to the chain of the whole deployment."""
    await append_in_transaction(work, _build_event(DEPLOYMENT_CHAIN, actor, kind, detail))


def _join_values(values: Sequence[str]) -> Iterator[str]:
    """`values` joined by spaces to texts that are at most as long as a detail."""
    text = ""
    for value in values:
        if text and len(text) + 1 + len(value) > MAX_DETAIL_TEXT_LENGTH:
            yield text
            text = ""
        text = f"{text} {value}" if text else value
    if text:
        yield text


def _build_event(tenant_id: UUID, actor: Actor, kind: AuditEventKind, detail: dict[str, str | int]) -> AuditEvent:
    return AuditEvent(
        at=time.time_ns(),
        kind=kind,
        tenant_id=tenant_id,
        user_id=actor.user_id,
        credential_id=actor.credential_id,
        request_id=actor.request_id,
        outcome="ok",
        actor=actor.name,
        detail=detail,
    )
