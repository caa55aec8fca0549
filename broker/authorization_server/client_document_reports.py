"""Client metadata documents that no client comes of, reported to the operator: in the log and in the audit log.

Anybody can name a document without signing in, so what is reported is bounded and holds no text of theirs but a host.
"""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Protocol

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import append_events
from core.concurrency.rate_limits import CallerLimits
from core.db import Database
from core.errors import LimitReached, Unavailable

UnusableCause = Literal["form", "off", "host", "refused", "unreachable", "wrong"]

REPORTS_PER_HOUR = 20
REPORT_INTERVAL_SECONDS = 3600.0
MAX_REMEMBERED = 1_000

_HOST = re.compile(r"[0-9a-z.:_-]{1,253}")

log = logging.getLogger(__name__)


class UnusableClientDocument(Exception):
    """No client comes of a document.

    `cause` is form, the URL cannot be one of a document; off, the operator takes no documents; host, none of this host;
    refused, the host has no address that may be asked; unreachable, it does not answer now, and may be asked again
    after `retry_after` seconds; wrong, what it answers is no valid document.
    """

    def __init__(self, cause: UnusableCause, host: str = "", retry_after: float = 0.0) -> None:
        super().__init__(cause)
        self.cause: UnusableCause = cause
        self.host = host
        self.retry_after = retry_after


class ClientDocumentReporter(Protocol):
    """Is told of every document that could not be used."""

    async def report(self, host: str, cause: UnusableCause) -> None: ...


class AuditClientDocumentReporter:
    """Reports each host and cause at most once an hour, and 20 in an hour altogether; `more` is the number of reports
    that were left out since the one before. `clock` gives seconds that never go back."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._all = CallerLimits(REPORTS_PER_HOUR / 3600, REPORTS_PER_HOUR, 1, clock=clock)
        self._reported: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._left_out = 0

    async def report(self, host: str, cause: UnusableCause) -> None:
        """Write a line to the log and an event to the deployment's audit log, or count it as left out."""
        match = host.lower() if _HOST.fullmatch(host.lower()) else ""
        if not self._is_due(match, cause):
            self._left_out += 1
            return
        more, self._left_out = self._left_out, 0
        detail: dict[str, str | int] = {"host": match, "cause": cause, "more": more}
        log.warning("client metadata document rejected", extra={"event": "client_document_rejected", **detail})
        event = AuditEvent(
            at=time.time_ns(), kind=AuditEventKind.CLIENT_DOCUMENT_REFUSED, outcome="error", detail=detail
        )
        with suppress(Unavailable):  # the log has it
            await append_events(self._database, [event])

    def _is_due(self, host: str, cause: str) -> bool:
        now, key = self._clock(), (host, cause)
        if now < self._reported.get(key, -REPORT_INTERVAL_SECONDS) + REPORT_INTERVAL_SECONDS:
            return False
        try:
            self._all.enter("")()
        except LimitReached:
            return False
        self._reported[key] = now
        self._reported.move_to_end(key)
        if len(self._reported) > MAX_REMEMBERED:
            self._reported.popitem(last=False)
        return True
