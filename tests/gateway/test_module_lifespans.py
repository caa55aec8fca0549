"""What modules open and close with the gateway, and what they write to the log."""

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from core.errors import Invalid
from gateway import module_lifespans
from gateway.module_lifespans import open_module_lifespans
from gateway.module_log import get_module_log
from modules.kit import Module, ModuleLog

PLAIN = Module("toy", "Toy", "A toy.", frozenset(), ())


def module(name: str, events: list[str], *, start: Exception | None = None, stop: Exception | None = None) -> Module:
    @contextlib.asynccontextmanager
    async def lifespan(log: ModuleLog) -> AsyncIterator[None]:
        if start is not None:
            raise start
        events.append(f"{name} opened")
        log.info("opened", "the module has opened")
        yield
        events.append(f"{name} closed")
        if stop is not None:
            raise stop

    return replace(PLAIN, name=name, lifespan=lifespan)


async def test_they_open_in_order_and_close_in_the_other(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    events: list[str] = []
    async with open_module_lifespans([module("a", events), PLAIN, module("b", events)]):
        assert events == ["a opened", "b opened"]
    assert events[2:] == ["b closed", "a closed"]
    assert [getattr(record, "event", "") for record in caplog.records] == ["module_opened", "module_opened"]
    assert {record.name for record in caplog.records} == {"modules.a", "modules.b"}


async def test_one_that_does_not_open_ends_the_start() -> None:
    events: list[str] = []
    with pytest.raises(Invalid, match="the module b does not start: RuntimeError at ") as refused:
        async with open_module_lifespans([module("a", events), module("b", events, start=RuntimeError("s3cret"))]):
            raise AssertionError
    assert events == ["a opened", "a closed"]
    assert "s3cret" not in str(refused.value)


async def test_one_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_lifespans, "START_SECONDS", 0.0)

    @contextlib.asynccontextmanager
    async def endless(_log: ModuleLog) -> AsyncIterator[None]:
        import asyncio

        await asyncio.Event().wait()
        yield

    with pytest.raises(Invalid, match="has not started within"):
        async with open_module_lifespans([replace(PLAIN, lifespan=endless)]):
            raise AssertionError


async def test_one_that_fails_to_close_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    events: list[str] = []
    async with open_module_lifespans([module("a", events), module("b", events, stop=RuntimeError("s3cret"))]):
        pass
    assert events[2:] == ["b closed", "a closed"]
    (record,) = [one for one in caplog.records if getattr(one, "event", "") == "module_stop_failed"]
    assert record.levelno == logging.ERROR
    assert "s3cret" not in str(record.__dict__)


def test_a_log_line_has_a_name_and_bounded_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    fields: dict[str, Any] = {"name": "x" * 1000, "event": "theirs", "rows": 3}
    log: Any = get_module_log("toy")
    fields.pop("event")
    log.warning("rows_skipped", "rows were skipped", **fields)
    record: Any = caplog.records[-1]
    assert (record.event, record.rows, len(record.name_), record.name) == (
        "module_rows_skipped", 3, 200, "modules.toy",
    )  # fmt: skip
    with pytest.raises(ValueError, match="snake_case"):
        log.info("Not a name", "text")
