"""Every call leaves its intent and its outcome; what must not be kept is not there."""

import orjson
import pytest

from core.audit.event import AuditEvent, AuditEventKind
from tests.path.conftest import People
from tests.support.canary import SUITE
from tests.support.directory import set_argument_recording
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, NEWEST, Answer
from tests.support.product import ACTOR, Node, Product
from tests.support.toy_modules import Lab

AWAY = "MCPist is not ready: its database is unavailable; try again in 2 s"


async def calls(product: Product, people: People, number: int) -> list[tuple[AuditEvent, AuditEvent]]:
    """The first `number` intents with their outcomes, which follow within milliseconds."""

    async def there() -> bool:
        return len(await product.events(people.acme, AuditEventKind.CALL_OUTCOME)) >= number

    await within(5, there)
    intents = await product.events(people.acme, AuditEventKind.CALL_INTENT)
    outcomes = {event.intent: event for event in await product.events(people.acme, AuditEventKind.CALL_OUTCOME)}
    assert len(intents) == len(outcomes) == number
    return [(intent, outcomes[intent.id]) for intent in intents]


def request_id(answer: Answer) -> str:
    return answer.header("x-request-id")


@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_who_what_outcome_duration(product: Product, node: Node, people: People, revision: str) -> None:
    answers = [
        await node.call(people.admin.token, "lab", "lab_look", {"at": "x"}, revision=revision),
        await node.call(people.admin.token, "lab", "fail", revision=revision),
        await node.call(people.admin.token, "lab", "crash", revision=revision),
    ]
    found = await calls(product, people, 3)
    assert [(intent.module, intent.tool, outcome.outcome) for intent, outcome in found] == [
        ("lab", "look", "ok"),
        ("lab", "fail", "error"),
        ("lab", "crash", "error"),
    ]
    for (intent, outcome), answer in zip(found, answers, strict=True):
        assert intent.request_id == outcome.request_id == request_id(answer)
        assert (intent.user_id, intent.credential_id) == (people.admin.id, people.admin.token_id)
        assert intent.client == ("test client" if revision == MODERN else "")
        assert len(intent.digest) == 32
        assert intent.arguments is None
        assert 0 <= outcome.duration_us < 60_000_000


async def test_each_step_of_a_batch(product: Product, node: Node, people: People) -> None:
    steps = [
        {"id": "a", "module": "lab", "tool_name": "look", "params": {"at": "x"}},
        {"id": "b", "module": "lab", "tool_name": "write", "params": {"text": "${a.said}"}},
        {"id": "c", "module": "lab", "tool_name": "fail", "after": ["b"]},
        {"id": "d", "module": "lab", "tool_name": "look", "after": ["c"]},
    ]
    answer = await node.tool(people.admin.token, "batch", {"commands": steps})
    found = await calls(product, people, 3)
    assert [(intent.request_id, intent.tool, outcome.outcome) for intent, outcome in found] == [
        (f"{request_id(answer)}/a", "look", "ok"),
        (f"{request_id(answer)}/b", "write", "ok"),
        (f"{request_id(answer)}/c", "fail", "error"),
    ]


async def test_a_dry_run_leaves_nothing(product: Product, node: Node, people: People, lab: Lab) -> None:
    steps = [{"id": "a", "module": "lab", "tool_name": "write", "params": {"text": "x"}}]
    answer = await node.tool(people.admin.token, "batch", {"commands": steps, "dry_run": True})
    assert answer.text == "valid, nothing ran; in waves:\n1: a"
    assert lab.effects == []
    assert await product.events(people.acme, AuditEventKind.CALL_INTENT) == []


async def test_a_call_that_was_refused_before_its_tool_ran(product: Product, node: Node, people: People) -> None:
    limited = await product.with_token(people.admin, scopes=["mcp:read"])
    assert (await node.call(limited.token, "lab", "write", {"text": "x"})).status == 403
    assert (await node.call(people.admin.token, "lab", "write", {"text": 7})).failed
    found = await calls(product, people, 2)
    assert [(intent.tool, outcome.outcome, outcome.detail) for intent, outcome in found] == [
        ("write", "denied", {"refused": "scope"}),
        ("write", "error", {"refused": "arguments"}),
    ]


async def test_equal_arguments_are_recognised_within_a_tenant_only(
    product: Product, node: Node, people: People
) -> None:
    for person in (people.admin, people.admin, people.other_admin):
        await node.call(person.token, "lab", "look", {"at": "x"})
    await node.call(people.admin.token, "lab", "look", {"at": "y"})
    first, second, other = [event.digest for event in await product.events(people.acme, AuditEventKind.CALL_INTENT)]
    (foreign,) = [event.digest for event in await product.events(people.globex, AuditEventKind.CALL_INTENT)]
    assert first == second
    assert len({first, other, foreign}) == 3


@pytest.mark.parametrize("writing", ["write", "add"])
async def test_a_writing_tool_waits_for_its_intent(product: Product, people: People, lab: Lab, writing: str) -> None:
    """The intent cannot be written, so nothing happens, whether the tool replaces (`write`) or only adds (`add`), and a
    reading tool's answer is withheld."""
    steps = [{"id": "a", "module": "lab", "tool_name": writing, "params": {"text": "after"}}]
    async with product.gateway() as node:
        assert (await node.call(people.admin.token, "lab", writing, {"text": "before"})).value == {"said": "before"}
        async with product.unwritable_audit():
            written = await node.call(people.admin.token, "lab", writing, {"text": "after"})
            assert (written.failed, written.text) == (True, AWAY)
            read = await node.call(people.admin.token, "lab", "look", {"at": "x"})
            assert (read.failed, read.text) == (True, AWAY)
            batch = await node.tool(people.admin.token, "batch", {"commands": steps})
            assert batch.failed
            assert AWAY.removeprefix("Error: ") in batch.text
            assert lab.effects == ["before"]

        async def works_again() -> bool:
            return not (await node.tool(people.admin.token, "batch", {"commands": steps})).failed

        await within(5, works_again)
        assert lab.effects == ["before", "after"]


async def test_a_refusal_waits_for_its_record(product: Product, people: People, lab: Lab) -> None:
    """Wrong arguments, a lacking scope and a hidden name are answered only once they are recorded."""
    limited = await product.with_token(people.admin, scopes=["mcp:read"])
    async with product.gateway() as node:
        steps = [{"id": "a", "module": "lab", "tool_name": "write", "params": {"text": "x"}}]
        async with product.unwritable_audit():
            answers = [
                await node.call(people.admin.token, "lab", "write", {"text": 7}),
                await node.call(limited.token, "lab", "write", {"text": "x"}),
                await node.tool(limited.token, "batch", {"commands": steps}),
                await node.call(people.reader.token, "lab", "write"),
                await node.call(people.other_reader.token, "lab", "wrote"),
            ]
            assert [(answer.status, answer.failed, answer.text) for answer in answers] == [(200, True, AWAY)] * 5
            assert answers[-2].comparable == answers[-1].comparable, (
                "hidden and made up: also while nothing is recorded"
            )
        assert await product.events(people.acme, AuditEventKind.CALL_INTENT) == []

        async def works_again() -> bool:
            return (await node.call(limited.token, "lab", "write", {"text": "x"})).status == 403

        await within(5, works_again)
        assert lab.effects == []
        ((intent, outcome),) = await calls(product, people, 1)
        assert (intent.tool, outcome.detail) == ("write", {"refused": "scope"}), "no outcome of what was not recorded"


async def record(product: Product, people: People, node: Node) -> None:
    """Switch recording on, and wait until the gateway knows."""
    await set_argument_recording(product.console, ACTOR, people.acme.id, arguments=True)

    async def known() -> bool:
        await node.call(people.admin.token, "lab", "look", {"at": "?"})
        return (await product.events(people.acme, AuditEventKind.CALL_INTENT))[-1].arguments is not None

    await within(1, known)


async def test_arguments_where_the_tenant_wants_them_and_nowhere_else(
    product: Product, node: Node, people: People
) -> None:
    for person in (people.admin, people.other_admin):
        await node.call(person.token, "lab", "look", {"at": "here"})
    await record(product, people, node)
    for person in (people.admin, people.other_admin):
        await node.call(person.token, "lab", "look", {"at": "there"})
    acme = [event.arguments for event in await product.events(people.acme, AuditEventKind.CALL_INTENT)]
    assert (acme[0], acme[-1]) == (None, b'{"at":"there"}')
    globex = [event.arguments for event in await product.events(people.globex, AuditEventKind.CALL_INTENT)]
    assert globex == [None, None]


async def test_arguments_over_the_limit_are_recorded_by_size(product: Product, node: Node, people: People) -> None:
    await record(product, people, node)
    large = "postgres://kei:hunter2-canary@" * 5_000
    for person in (people.admin, people.other_admin):
        await node.call(person.token, "lab", "look", {"at": large})
    event = (await product.events(people.acme, AuditEventKind.CALL_INTENT))[-1]
    assert (event.arguments, event.detail) == (None, {"arguments_bytes": len(large) + 9})
    await node.call(people.admin.token, "lab", "look", {"at": "a" * 40_000 + " postgres://kei:hunter2-canary@db"})
    event = (await product.events(people.acme, AuditEventKind.CALL_INTENT))[-1]
    assert (event.arguments or b"").endswith(b'a postgres://<masked>@db"}')
    (foreign,) = await product.events(people.globex, AuditEventKind.CALL_INTENT)
    assert (foreign.arguments, foreign.detail) == (None, None)


async def test_a_parameter_that_is_never_recorded(product: Product, node: Node, people: People) -> None:
    await record(product, people, node)
    params = {"text": "kept", "password": "hunter2-canary"}
    await node.call(people.admin.token, "lab", "write", params)
    steps = [{"id": "a", "module": "lab", "tool_name": "write", "params": params}]
    await node.tool(people.admin.token, "batch", {"commands": steps})
    await node.call(people.reader.token, "lab", "write", params)
    await node.call(people.admin.token, "lab", "write", {**params, "text": 7})
    await node.call(people.admin.token, "lab", "crash", {"secret": "hunter2-canary"})
    await product.database.hear()
    events = await product.events(people.acme)
    written = [event for event in events if event.kind == AuditEventKind.CALL_INTENT and event.tool == "write"]
    assert [orjson.loads(event.arguments or b"") for event in written] == [{"text": "kept"}] * 2 + [{"text": 7}]
    (crashed,) = [event for event in events if event.kind == AuditEventKind.CALL_INTENT and event.tool == "crash"]
    others = [event for event in events if event is not crashed]
    assert not any("hunter2" in repr(event) for event in others)
    said = [where for where, what in SUITE.said if b"hunter2-canary" in what]
    assert set(said) <= {"audit.incoming"}, "only where the tenant had the crashing tool's arguments recorded"


async def test_what_was_changed_is_recorded_with_who_did_it(product: Product, people: People) -> None:
    kinds = [event.kind for event in await product.events(people.acme)]
    enabled = [AuditEventKind.SERVICE_ENABLED] * len(product.catalogue.modules)
    assert kinds[: 1 + len(enabled)] == [AuditEventKind.TENANT_CREATED, *enabled]
    person = [AuditEventKind.USER_CREATED, AuditEventKind.TOKEN_CREATED]
    admin = [AuditEventKind.ROLE_CREATED, AuditEventKind.PERMISSION_ALLOWED, *person]
    reader = [
        AuditEventKind.ROLE_CREATED,
        AuditEventKind.PERMISSION_ALLOWED,
        AuditEventKind.PERMISSION_ALLOWED,
        *person,
    ]
    assert kinds[1 + len(enabled) :] == [*admin, *reader, AuditEventKind.ROLE_CREATED, *person]
    assert {event.actor for event in await product.events(people.acme)} == {"tests"}
