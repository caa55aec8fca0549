"""Events keep their limits whoever makes them, and arguments stay secret behind their digest."""

import pytest
from msgspec.structs import replace

from core.audit.digest import compute_argument_digest
from core.audit.event import AuditEvent, CallOutcome, build_outcome_event
from core.audit.truncation import (
    FIELD_LIMITS,
    MAX_ARGUMENTS_BYTES,
    MAX_PACKED_BYTES,
    pack,
    to_datetime,
    truncate_if_needed,
    unpack,
)
from core.secret import Secret
from tests.core.audit.support import OTHER, TENANT, call

KEY = Secret("k" * 43)
HOSTILE = ["x" * 2_000_000, "\0", "\ud800", "日本語" * 50_000, ""]


def test_a_record_gives_the_event_back() -> None:
    event = call(detail={"reason": "日本語", "count": 3}, arguments=b'{"a":1}', actor="operator")
    assert unpack(pack(event)) == event


def test_every_event_has_an_id_of_its_own() -> None:
    assert len({call().id for _ in range(1000)}) == 1000


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", FIELD_LIMITS)
def test_no_text_breaks_or_bloats_a_record(field: str, text: str) -> None:
    packed = pack(replace(call(), **{field: text}))
    assert len(packed) <= 5_000
    sealed = truncate_if_needed(unpack(packed))
    assert len(getattr(sealed, field)) <= FIELD_LIMITS[field]
    assert "\0" not in getattr(sealed, field)


@pytest.mark.parametrize(("field", "limit"), FIELD_LIMITS.items())
def test_each_text_is_cut_at_its_own_limit_when_it_is_sealed(field: str, limit: int) -> None:
    whole, longer = (replace(call(), **{field: "t" * length}) for length in (limit, limit + 1))
    assert truncate_if_needed(unpack(pack(whole))) == whole
    assert getattr(truncate_if_needed(unpack(pack(longer))), field) == "t" * (limit - 1) + "…"


def test_a_short_text_over_its_limit_is_cut_when_it_is_sealed() -> None:
    sealed = truncate_if_needed(unpack(pack(call(tool="t" * 300))))
    assert sealed.tool == "t" * 199 + "…"


def test_details_are_few_and_short() -> None:
    detail: dict[str, str | int] = {f"key-{n}" * 50: "v" * 10_000 for n in range(100)}
    sealed = truncate_if_needed(unpack(pack(call(detail=detail | {"number": 2**80}))))
    assert sealed.detail is not None
    assert len(sealed.detail) <= 16
    assert all(len(key) <= 64 and len(str(value)) <= 500 for key, value in sealed.detail.items())


def test_arguments_are_kept_whole_or_not_at_all() -> None:
    whole = call(arguments=b"a" * MAX_ARGUMENTS_BYTES)
    assert unpack(pack(whole)).arguments == whole.arguments
    assert len(pack(replace(whole, **dict.fromkeys(FIELD_LIMITS, "日" * 10000)))) <= MAX_PACKED_BYTES
    left_out = unpack(pack(call(arguments=b"a" * (MAX_ARGUMENTS_BYTES + 1), detail={"why": "x"})))
    assert left_out.arguments is None
    assert left_out.detail == {"arguments_bytes": MAX_ARGUMENTS_BYTES + 1, "why": "x"}


def test_numbers_out_of_range_do_not_break_a_record() -> None:
    assert truncate_if_needed(unpack(pack(call(duration_us=2**90, at=-(2**90))))).duration_us == 2**63 - 1
    assert to_datetime(-1) is None
    assert to_datetime(2**63 - 1) is not None
    assert to_datetime(10**22) is None


def test_an_outcome_belongs_to_its_intent() -> None:
    intent = call()
    outcome = build_outcome_event(intent, CallOutcome.TIMEOUT, 12, {"limit": "call"})
    assert (outcome.intent, outcome.at, outcome.tenant_id) == (intent.id, intent.at, TENANT)
    assert outcome.id != intent.id


def test_a_newer_version_s_record_is_still_read() -> None:
    class Newer(AuditEvent, frozen=True, kw_only=True, array_like=True):
        added: str = "later"

    event = unpack(pack(Newer(at=1, kind="something.new")))
    assert event.kind == "something.new"


def test_digests_recognise_equal_arguments_of_one_tenant_and_key() -> None:
    digest = compute_argument_digest(KEY, TENANT, b'{"a":1}')
    assert len(digest) == 32
    assert digest == compute_argument_digest(KEY, TENANT, b'{"a":1}')
    others = {
        compute_argument_digest(KEY, TENANT, b'{"a":2}'),
        compute_argument_digest(KEY, OTHER, b'{"a":1}'),
        compute_argument_digest(Secret("K" * 43), TENANT, b'{"a":1}'),
    }
    assert len(others | {digest}) == 4


@pytest.mark.parametrize("size", [0, 31, 65])
def test_a_key_of_the_wrong_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError):
        compute_argument_digest(Secret("k" * size), TENANT, b"{}")
