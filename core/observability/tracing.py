"""OpenTelemetry spans, where an endpoint is configured; elsewhere nothing of the library is even imported.

Spans carry no arguments, no results and no text of an exception: only names, ids and types.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

from core.config.tracing import TracingSettings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.sampling import Sampler
    from opentelemetry.trace import Span as LibrarySpan

SpanKind = Literal["server", "internal", "client"]
AttributeValue = str | bool | int | float

TRACEPARENT = "traceparent"
"""Header that carries a trace from process to process (W3C Trace Context)."""
EXPORT_TIMEOUT = 5.0
CLOSE_TIMEOUT = 2.0


class Span(Protocol):
    """Timed part of a trace."""

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        """Say more about it."""
        ...

    def rename(self, name: str) -> None:
        """Give it a name that was not known when it began: still one of few."""
        ...

    def mark_failed(self, kind: str) -> None:
        """Mark it as failed; `kind` is a fixed word or the name of a type, never a message."""
        ...


class Tracer(Protocol):
    """Makes spans. A span inside the block of another is its child, across tasks too."""

    def span(
        self,
        name: str,
        kind: SpanKind = "internal",
        *,
        parent: str = "",
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> AbstractContextManager[Span]:
        """Open a span for the time in the block; an exception that leaves it marks it as failed.

        `name` is one of few; `parent` is a W3C traceparent from outside, or empty.
        """
        ...

    def get_traceparent(self) -> str:
        """Return the W3C traceparent of the span in which this is called, for another process of the deployment; empty
        outside of spans."""
        ...

    async def close(self) -> None:
        """Send what is left, for at most a few seconds."""
        ...


class NoopTracer:
    """Traces that are off."""

    def span(
        self,
        name: str,
        kind: SpanKind = "internal",
        *,
        parent: str = "",
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> AbstractContextManager[Span]:
        return _NOOP_SPAN

    def get_traceparent(self) -> str:
        return ""

    async def close(self) -> None:
        pass


NOOP_TRACER = NoopTracer()


class _NoopSpan(AbstractContextManager["_NoopSpan"]):
    def set_attribute(self, name: str, value: AttributeValue) -> None:
        pass

    def rename(self, name: str) -> None:
        pass

    def mark_failed(self, kind: str) -> None:
        pass

    def __enter__(self) -> "_NoopSpan":
        return self

    def __exit__(self, *error: object) -> None:
        return None


_NOOP_SPAN = _NoopSpan()


def start_tracer(settings: TracingSettings, version: str) -> Tracer:
    """Traces as configured: sent in the background in batches, by OTLP over HTTP."""
    return _OtelTracer(settings, version) if settings.url else NOOP_TRACER


@contextlib.asynccontextmanager
async def open_tracer(settings: TracingSettings, version: str) -> AsyncGenerator[Tracer]:
    """Trace as :func:`start_tracer` does until the block is left; then what waits is sent."""
    tracer = start_tracer(settings, version)
    try:
        yield tracer
    finally:
        await tracer.close()


class _OtelTracer:
    def __init__(self, settings: TracingSettings, version: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": settings.service_name, "service.version": version})
        self._provider = TracerProvider(sampler=_create_sampler(settings), resource=resource, shutdown_on_exit=False)
        headers = {name: value.reveal() for name, value in settings.headers}
        exporter = OTLPSpanExporter(endpoint=settings.url, headers=headers, timeout=EXPORT_TIMEOUT)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("mcpist", version)

    @contextlib.contextmanager
    def span(
        self,
        name: str,
        kind: SpanKind = "internal",
        *,
        parent: str = "",
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> Generator[Span]:
        from opentelemetry.trace import SpanKind

        with self._tracer.start_as_current_span(
            name,
            context=_parse_parent(parent),
            kind=SpanKind[kind.upper()],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as library_span:
            span = _OtelSpan(library_span)
            try:
                yield span
            except BaseException as error:
                span.mark_failed(type(error).__name__)
                raise

    def get_traceparent(self) -> str:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return carrier.get(TRACEPARENT, "")

    async def close(self) -> None:
        loop, flushed = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(flushed.set)

        # A daemon: with a collector that never answers this takes five seconds for every batch, and a thread of the
        # executor would keep the process from ending.
        threading.Thread(target=shut_down, name="traces", daemon=True).start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await flushed.wait()


class _OtelSpan:
    __slots__ = ("_span",)

    def __init__(self, span: "LibrarySpan") -> None:
        self._span = span

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        self._span.set_attribute(name, value)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def mark_failed(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)


def _parse_parent(parent: str) -> "Context | None":
    if not parent:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({TRACEPARENT: parent})


def _create_sampler(settings: TracingSettings) -> "Sampler":
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, TraceIdRatioBased

    root: Sampler = {"always_on": ALWAYS_ON, "always_off": ALWAYS_OFF}.get(
        settings.sampler.removeprefix("parentbased_"), TraceIdRatioBased(settings.ratio)
    )
    return ParentBased(root) if settings.sampler.startswith("parentbased_") else root
