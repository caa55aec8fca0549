"""Pack events for the queue; keep every field within its limit, whoever wrote it."""

from datetime import UTC, datetime, timedelta

import msgspec

from core.audit.event import Event

MOST_ARGUMENTS = 65_536
MOST_PACKED = 98_304  # the database's own limit for a record
MOST_FAST = 4_096
"""A packed record up to this size is stored as it is; the sealer cuts its fields."""
MOST_DETAILS = 16
MOST_DETAIL_KEY = 64
MOST_DETAIL_TEXT = 500
LIMITS = {
    "kind": 64,
    "credential_id": 128,
    "client": 200,
    "request_id": 128,
    "module": 128,
    "tool": 200,
    "outcome": 32,
    "actor": 320,
}

_LIMITS = tuple(LIMITS.items())
_ID = 16
_MOST_DIGEST = 64
_MOST_INT = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 1, 1, tzinfo=UTC)
_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode = msgspec.msgpack.Decoder(Event).decode


def pack(event: Event) -> bytes:
    """The record that the queue keeps; at most ``MOST_PACKED`` bytes, whatever is in the event."""
    try:
        packed = _encode(event)
    except (ValueError, OverflowError):  # a lone surrogate in a text, a number of more than 64 bits
        return _encode(bounded(event))
    return packed if len(packed) <= MOST_FAST else _encode(bounded(event))


def unpack(record: bytes) -> Event:
    """The event of a packed record.

    Raises:
        msgspec.MsgspecError: the record is no event.
    """
    return _decode(record)


def bounded(event: Event) -> Event:
    """The same event with every field inside its limit, and no text that PostgreSQL cannot store."""
    arguments, detail = event.arguments, event.detail
    if arguments is not None and len(arguments) > MOST_ARGUMENTS:
        detail = {"arguments_bytes": len(arguments), **(detail or {})}
        arguments = None
    return msgspec.structs.replace(
        event,
        **{name: _text(getattr(event, name), most) for name, most in LIMITS.items()},
        at=_number(event.at),
        duration_us=_number(event.duration_us),
        digest=event.digest[:_MOST_DIGEST],
        id=event.id[:_ID],
        intent=None if event.intent is None else event.intent[:_ID],
        arguments=arguments,
        detail=_details(detail) if detail else None,
    )


def sealable(event: Event) -> Event:
    """`event` itself where every field is inside its limit, as nearly always; else :func:`bounded`."""
    return event if _fits(event) else bounded(event)


def moment(nanoseconds: int) -> datetime | None:
    """That time, to the microsecond; None where it lies outside the calendar."""
    try:
        found = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
    return found if _EPOCH <= found < _LAST else None


def microseconds(time: datetime) -> int:
    """`time` as microseconds since 1970, exactly."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def _fits(event: Event) -> bool:
    for name, most in _LIMITS:
        text = getattr(event, name)
        if len(text) > most or "\0" in text:
            return False
    if event.detail or event.arguments is not None:
        return False
    return (
        len(event.id) == _ID
        and len(event.digest) <= _MOST_DIGEST
        and (event.intent is None or len(event.intent) == _ID)
        and 0 <= event.duration_us <= _MOST_INT
    )


def _text(text: str, most: int) -> str:
    if len(text) > most:
        text = text[: most - 1] + "…"
    if "\0" in text or not text.isascii():
        text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return text


def _details(detail: dict[str, str | int]) -> dict[str, str | int]:
    kept = list(detail.items())[:MOST_DETAILS]
    return {
        _text(key, MOST_DETAIL_KEY): _text(value, MOST_DETAIL_TEXT) if isinstance(value, str) else _number(value)
        for key, value in kept
    }


def _number(number: int) -> int:
    return max(-_MOST_INT, min(number, _MOST_INT))
