"""Pack events for the queue; keep every field within its limit."""

from datetime import UTC, datetime, timedelta

import msgspec

from core.audit.event import AuditEvent

MAX_ARGUMENTS_BYTES = 65_536
MAX_PACKED_BYTES = 98_304  # the database's own limit for a record
MAX_UNCHECKED_BYTES = 4_096
"""A packed record up to this size is stored as it is; the sealer cuts its fields."""
MAX_DETAILS = 16
MAX_DETAIL_KEY_LENGTH = 64
MAX_DETAIL_TEXT_LENGTH = 500
FIELD_LIMITS = {
    "kind": 64,
    "credential_id": 128,
    "client": 200,
    "request_id": 128,
    "module": 128,
    "tool": 200,
    "outcome": 32,
    "actor": 320,
}

_KIND, _CREDENTIAL, _CLIENT, _REQUEST, _MODULE, _TOOL, _OUTCOME, _ACTOR = FIELD_LIMITS.values()
_ID_BYTES = 16
_MAX_DIGEST_BYTES = 64
_MAX_INT = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END_MICROSECONDS = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode = msgspec.msgpack.Decoder(AuditEvent).decode


def pack(event: AuditEvent) -> bytes:
    """Pack the record that the queue keeps; at most ``MAX_PACKED_BYTES`` bytes, whatever is in the event."""
    try:
        packed = _encode(event)
    except (ValueError, OverflowError):  # a lone surrogate in a text, a number of more than 64 bits
        return _encode(truncate_event(event))
    return packed if len(packed) <= MAX_UNCHECKED_BYTES else _encode(truncate_event(event))


def unpack(record: bytes) -> AuditEvent:
    """Unpack the event of a packed record.

    Raises:
        msgspec.MsgspecError: the record is no event.
    """
    return _decode(record)


def truncate_event(event: AuditEvent) -> AuditEvent:
    """Truncate every field of an event to its limit, and replace text that PostgreSQL cannot store."""
    arguments, detail = event.arguments, event.detail
    if arguments is not None and len(arguments) > MAX_ARGUMENTS_BYTES:
        detail = {"arguments_bytes": len(arguments), **(detail or {})}
        arguments = None
    return msgspec.structs.replace(
        event,
        **{name: _truncate_text(getattr(event, name), limit) for name, limit in FIELD_LIMITS.items()},
        at=_clamp_number(event.at),
        duration_us=_clamp_number(event.duration_us),
        digest=event.digest[:_MAX_DIGEST_BYTES],
        id=event.id[:_ID_BYTES],
        intent=None if event.intent is None else event.intent[:_ID_BYTES],
        arguments=arguments,
        detail=_truncate_details(detail) if detail else None,
    )


def truncate_if_needed(event: AuditEvent) -> AuditEvent:
    """`event` itself where every field is inside its limit, as nearly always; else :func:`bounded`."""
    return event if _is_within_limits(event) else truncate_event(event)


def to_event_time(nanoseconds: int) -> int | None:
    """Round down to microseconds since 1970, the form in which events are chained; None outside the calendar."""
    microseconds = nanoseconds // 1000
    return microseconds if 0 <= microseconds < _END_MICROSECONDS else None


def to_datetime(nanoseconds: int) -> datetime | None:
    """Convert to a datetime with microseconds; None outside the calendar."""
    microseconds = to_event_time(nanoseconds)
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(time: datetime) -> int:
    """`time` as microseconds since 1970, exactly."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def _is_within_limits(event: AuditEvent) -> bool:
    if event.detail or event.arguments is not None:
        return False
    # Field by field, as every record comes by here: a third of what a loop or `map` over them takes.
    kind, credential_id, client, request_id = event.kind, event.credential_id, event.client, event.request_id
    module, tool, outcome, actor = event.module, event.tool, event.outcome, event.actor
    return (
        len(kind) <= _KIND
        and len(credential_id) <= _CREDENTIAL
        and len(client) <= _CLIENT
        and len(request_id) <= _REQUEST
        and len(module) <= _MODULE
        and len(tool) <= _TOOL
        and len(outcome) <= _OUTCOME
        and len(actor) <= _ACTOR
        and "\0" not in f"{kind}{credential_id}{client}{request_id}{module}{tool}{outcome}{actor}"
        and len(event.id) == _ID_BYTES
        and len(event.digest) <= _MAX_DIGEST_BYTES
        and (event.intent is None or len(event.intent) == _ID_BYTES)
        and 0 <= event.duration_us <= _MAX_INT
    )


def _truncate_text(text: str, limit: int) -> str:
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if "\0" in text or not text.isascii():
        text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return text


def _truncate_details(detail: dict[str, str | int]) -> dict[str, str | int]:
    entries = list(detail.items())[:MAX_DETAILS]
    return {
        _truncate_text(key, MAX_DETAIL_KEY_LENGTH): _truncate_text(value, MAX_DETAIL_TEXT_LENGTH)
        if isinstance(value, str)
        else _clamp_number(value)
        for key, value in entries
    }


def _clamp_number(number: int) -> int:
    return max(-_MAX_INT, min(number, _MAX_INT))
