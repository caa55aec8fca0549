"""Takes what is due and tells it by every channel, again and again until each has taken it, or three days are over."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from broker.notices.outbox import MOST_ATTEMPTS, Notice, Outcome, Taken, close, note_told, read, take
from broker.notices.wording import Wording, worded
from core.db import Database
from core.errors import Unavailable

LOOK_SECONDS = 30.0
SWEEP_TURNS = 120

log = logging.getLogger(__name__)


class Channel(Protocol):
    """A way to tell."""

    name: str

    async def tell(self, notice: Notice, wording: Wording, now: datetime) -> bool:
        """Whether it was taken. Never raises for what happens outside."""
        ...


class Teller:
    """`title` gives the name for people of a module or provider."""

    def __init__(
        self,
        database: Database,
        channels: Sequence[Channel],
        title: Callable[[str], str],
        public_url: str,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._channels = channels
        self._title = title
        self._public_url = public_url
        self._clock = clock

    async def run(self) -> None:
        """Look every half minute, until cancelled; once an hour, what was closed a month ago is swept away."""
        for turn in itertools.count():
            try:
                await self.tell_due()
                if turn % SWEEP_TURNS == 0:
                    await self._database.call("SELECT vault.sweep_notices()")
            except Exception as error:  # noqa: BLE001 nothing may end it: what is due now is due in two minutes
                log.warning("notices are not told for now", extra={"cause": type(error).__name__})
            await asyncio.sleep(LOOK_SECONDS)

    async def tell_due(self) -> int:
        """Tell what is due; how many notices were looked at.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        taken = await take(self._database)
        for one in taken:
            await self._tell(one)
        return len(taken)

    async def _tell(self, taken: Taken) -> None:
        tenant_id, notice_id = taken
        async with self._database.tenant(tenant_id) as work:
            notice = await read(work, notice_id)
            if notice is None:
                return
            if outcome := self._settled(notice):
                await close(work, notice_id, outcome)
                return
        # No transaction is open while somebody else's server takes its time.
        wording = worded(notice, self._title(notice.service), self._public_url)
        told = [await self._told(channel, notice, wording) for channel in self._channels]
        if all(told):
            async with self._database.tenant(tenant_id) as work:
                await close(work, notice_id, "told")

    def _settled(self, notice: Notice) -> Outcome | None:
        if notice.over:
            return "over"
        if not self._channels:
            return "nobody"
        return "given_up" if notice.attempts > MOST_ATTEMPTS else None

    async def _told(self, channel: Channel, notice: Notice, wording: Wording) -> bool:
        if channel.name in notice.told_by:
            return True
        if not await channel.tell(notice, wording, self._clock()):
            log.warning("a notice could not be told", extra={"channel": channel.name, "notice": str(notice.id)})
            return False
        try:
            async with self._database.tenant(notice.tenant_id) as work:
                await note_told(work, notice.id, channel.name)
        except Unavailable:
            log.warning("a notice may be told twice", extra={"channel": channel.name, "notice": str(notice.id)})
        return True
