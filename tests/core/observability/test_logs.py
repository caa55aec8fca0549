import asyncio
import io
import logging
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
import uvicorn

from core.observability.logs import (
    JsonLineFormatter,
    TextLineFormatter,
    configure_logs,
    current_request,
    resolve_format,
)
from core.observability.redaction import MAX_LENGTH
from core.secret import Secret

TOUCHED = ("", "uvicorn", "uvicorn.error", "uvicorn.access", "alembic", "authlib", "urllib3", "httpcore2", "hpack")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in TOUCHED]
    before = [(one.level, one.handlers[:], one.propagate, one.disabled) for one in loggers]
    raising = logging.raiseExceptions
    yield
    logging.raiseExceptions = raising
    logging.captureWarnings(False)
    for one, (level, handlers, propagate, disabled) in zip(loggers, before, strict=True):
        one.setLevel(level)
        one.handlers[:] = handlers
        one.propagate, one.disabled = propagate, disabled


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_all_fields(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    token = current_request.set("req-1")
    logging.getLogger("core.x").warning("lost %d of %s", 3, "five", extra={"cause": "OSError", "tenant": UUID(int=7)})
    current_request.reset(token)
    logging.getLogger("core.x").debug("not shown")
    [line] = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert isinstance(line.pop("pid"), int)
    assert line == {
        "level": "warning",
        "logger": "core.x",
        "message": "lost 3 of five",
        "request_id": "req-1",
        "cause": "OSError",
        "tenant": str(UUID(int=7)),
    }


@pytest.mark.parametrize("form", ["json", "text"])
def test_the_event_s_name_comes_right_after_the_message(stream: io.StringIO, form: str) -> None:
    configure_logs("info", form, stream)
    logging.getLogger("core.x").warning("it broke", extra={"error": "OSError", "event": "x_broke"})
    assert ('"event":"x_broke"' if form == "json" else "core.x: it broke event=x_broke error=OSError") in (
        stream.getvalue()
    )


def test_an_oversized_line_keeps_the_event_s_name(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    fields = {f"field{number}": "x" * 8_000 for number in range(20)}
    logging.getLogger("core.x").warning("it broke", extra={"event": "x_broke", **fields})
    [line] = lines(stream)
    assert (line["event"], line["fields_left_out"]) == ("x_broke", 20)


def fail() -> None:
    try:
        raise OSError("hunter2 in the first")
    except OSError as error:
        raise RuntimeError("hunter2 in the second") from error


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_exception_is_types_and_places_without_text(stream: io.StringIO, form: str) -> None:
    configure_logs("info", form, stream)
    log = logging.getLogger("core.x")
    try:
        fail()
    except RuntimeError as error:
        log.exception("it failed: %s", error, extra={"cause": error})
        log.error(error)
    text = stream.getvalue()
    assert "hunter2" not in text
    assert "RuntimeError" in text
    assert "OSError" in text
    here = f"observability/{Path(__file__).name}:"
    assert here in text
    if form == "json":
        chain = lines(stream)[0]["exception"]
        assert [cause["type"] for cause in chain] == ["RuntimeError", "OSError"]
        assert [len(cause["at"]) for cause in chain] == [2, 1]


async def test_what_asyncio_tells_of_a_lost_task_has_no_text_of_it(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)

    async def leak() -> None:
        raise ValueError("hunter2")

    task = asyncio.create_task(leak())
    await asyncio.wait([task])
    loop = asyncio.get_running_loop()
    loop.default_exception_handler(
        {"message": "Task exception was never retrieved", "exception": task.exception(), "future": task}
    )
    [line] = lines(stream)
    assert "hunter2" not in stream.getvalue()
    assert line["message"] == "Task exception was never retrieved"
    assert line["exception"][0]["type"] == "ValueError"


class Careless:
    def __repr__(self) -> str:
        return "hunter2"


def test_secrets_in_fields_are_not_written(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    extra = {
        "wrapped": Secret("hunter2"),
        "client_secret": "hunter2",
        "object": Careless(),
        "deep": {"password": "hunter2", "list": [Careless(), b"hunter2", 1]},
        "url": "postgresql://kei:hunter2@db/mcpist",
    }
    logging.getLogger("core.x").info("header was %s", "Bearer hunter2hunter2", extra=extra)
    assert "hunter2" not in stream.getvalue()
    [line] = lines(stream)
    assert line["wrapped"] == "<secret>"
    assert line["object"].endswith("Careless")
    assert line["deep"]["list"][2] == 1
    assert line["url"] == "postgresql://<masked>@db/mcpist"


@pytest.mark.parametrize(
    "value", [1 << 100, float("nan"), {1: 2}, {"a": {"b": {"c": {"d": {}}}}}, "\ud800", "x" * 100_000]
)
def test_no_field_breaks_a_line(stream: io.StringIO, value: Any) -> None:
    configure_logs("info", "json", stream)
    logging.getLogger("core.x").info("m", extra={"field": value})
    [line] = lines(stream)
    assert line["message"] == "m"
    assert len(stream.getvalue()) < 10_000


@pytest.mark.parametrize("formatter", [JsonLineFormatter(), TextLineFormatter()], ids=["json", "text"])
@pytest.mark.parametrize(
    "value",
    [
        dict.fromkeys(("eyJ" * 1_000 + str(n) for n in range(500)), "postgres://" * 1_000),
        [["token='" * 2_000] * 100] * 100,
        "\0" * 4_000_000,
    ],
    ids=["mapping", "lists", "text"],
)
def test_the_time_and_size_of_a_line_are_bounded(formatter: logging.Formatter, value: Any) -> None:
    record = logging.LogRecord("core.x", logging.INFO, "", 1, "Bearer%%20%s", ("Bearer%20" * 400_000,), None)
    record.__dict__.update(field=value, next="kept")
    began = time.thread_time()
    text = formatter.format(record)
    spent = time.thread_time() - began
    assert len(text) <= 2 * MAX_LENGTH
    assert "Bearer <masked>" in text
    if isinstance(formatter, JsonLineFormatter):
        line = orjson.loads(text)
        assert line.get("next") == "kept" or line["fields_left_out"] == 2
    assert spent < 0.1, f"{spent:.3f} s"


def test_a_message_that_does_not_fit_its_arguments_is_still_a_line(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    logging.getLogger("core.x").info("%d of %d", 1)
    assert lines(stream)[0]["message"].startswith("%d of %d")


def test_text_cannot_write_a_line_or_to_the_terminal(stream: io.StringIO) -> None:
    configure_logs("info", "text", stream)
    logging.getLogger("core.x").info("name %s", "a\n12:00:00 ERROR forged\x1b[2J", extra={"b": "c\rd"})
    text = stream.getvalue()
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    assert r"\x1b[2J" in text


def test_the_libraries_lines_come_out_the_same_way(stream: io.StringIO) -> None:
    configure_logs("debug", "json", stream)
    uvicorn.Config(lambda: None, log_config=None)
    for name in ("uvicorn.error", "alembic.runtime.migration"):
        logging.getLogger(name).info("hello")
    logging.getLogger("uvicorn.access").info("GET /mcp?secret=1")
    logging.getLogger("authlib.oauth2").debug("Issue token hunter2")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert [line["logger"] for line in lines(stream)] == ["uvicorn.error", "alembic.runtime.migration", "py.warnings"]


def test_configuring_again_replaces_the_handler(stream: io.StringIO) -> None:
    configure_logs("info", "json", io.StringIO())
    configure_logs("info", "json", stream)
    logging.getLogger("core.x").info("once")
    assert len(lines(stream)) == 1


def test_auto_is_text_on_a_terminal_only(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_format("auto", stream) == "json"
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert resolve_format("auto", stream) == "text"
    assert resolve_format("json", stream) == "json"
