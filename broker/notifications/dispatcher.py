"""Takes what is due and tells it by every channel, again and again until each has taken it, or three days are over."""

import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from broker.notifications.outbox import (
    MOST_ATTEMPTS,
    DeliveryOutcome,
    NotificationKey,
    UserNotification,
    close_notification,
    read_notification,
    record_delivery,
    take_due,
)
from broker.notifications.templates import NotificationText, render_notification
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.errors import Unavailable

POLL_SECONDS = 30.0
SWEEP_TURNS = 120

log = logging.getLogger(__name__)


class NotificationChannel(Protocol):
    """A way to tell."""

    name: str

    async def send(self, notice: UserNotification, wording: NotificationText, now: datetime) -> bool:
        """Send a notification; return whether the channel accepted it. Never raises for failures outside of MCPist."""
        ...


ListChannels = Callable[[], Awaitable[Sequence[NotificationChannel]]]
"""Lists the channels that count now. Raises core.errors.Unavailable where they cannot be read."""


class NotificationDispatcher:
    """`title` gives the name for people of a module or provider."""

    def __init__(
        self,
        database: Database,
        list_channels: ListChannels,
        title: Callable[[str], str],
        public_url: str,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._list_channels = list_channels
        self._title = title
        self._public_url = public_url
        self._clock = clock

    async def run(self) -> None:
        """Look every half minute, until cancelled; once an hour, what was closed a month ago is swept away."""
        turns = itertools.count()

        async def take_turn() -> None:
            await self.send_due()
            if next(turns) % SWEEP_TURNS == 0:
                await self._database.call("SELECT vault.sweep_notices()")

        await PeriodicTask("sending notifications", take_turn, POLL_SECONDS, jitter=False, runs_at_start=True).run()

    async def send_due(self) -> int:
        """Tell what is due; how many notices were looked at.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        channels = await self._list_channels()
        taken = await take_due(self._database)
        for notice in taken:
            await self._send(notice, channels)
        return len(taken)

    async def _send(self, taken: NotificationKey, channels: Sequence[NotificationChannel]) -> None:
        tenant_id, notice_id = taken
        async with self._database.tenant(tenant_id) as work:
            notice = await read_notification(work, notice_id)
            if notice is None:
                return
            if outcome := _decide_outcome(notice, channels):
                await close_notification(work, notice_id, outcome)
                return
        # No transaction is open while somebody else's server takes its time.
        wording = render_notification(notice, self._title(notice.service), self._public_url)
        delivered = [await self._deliver(channel, notice, wording) for channel in channels]
        if all(delivered):
            async with self._database.tenant(tenant_id) as work:
                await close_notification(work, notice_id, "told")

    async def _deliver(self, channel: NotificationChannel, notice: UserNotification, wording: NotificationText) -> bool:
        if channel.name in notice.delivered_channels or channel.name in notice.unwanted_channels:
            return True
        if not await channel.send(notice, wording, self._clock()):
            log.warning(
                "notification was not delivered",
                extra={
                    "event": "notification_delivery_failed",
                    "channel": channel.name,
                    "notification": str(notice.id),
                },
            )
            return False
        try:
            async with self._database.tenant(notice.tenant_id) as work:
                await record_delivery(work, notice.id, channel.name)
        except Unavailable:
            log.warning(
                "notification was delivered but not recorded, and may be sent twice",
                extra={
                    "event": "notification_record_failed",
                    "channel": channel.name,
                    "notification": str(notice.id),
                },
            )
        return True


def _decide_outcome(notice: UserNotification, channels: Sequence[NotificationChannel]) -> DeliveryOutcome | None:
    if notice.is_resolved:
        return "over"
    if notice.job is not None and not notice.recipients:
        return "nobody"  # of that person, a webhook is told nothing either
    if all(channel.name in notice.unwanted_channels for channel in channels):
        return "nobody"
    return "given_up" if notice.attempts > MOST_ATTEMPTS else None
