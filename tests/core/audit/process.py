"""A process that appends or seals until it is killed: ``python -m tests.core.audit.process write|seal``; with
``seal-until TURN`` it kills itself before that slice of its first batch.

Its first line on standard input is the address as JSON. It says on standard output what it is sure of: the id of each
event that was acknowledged, or the number of events that it sealed.
"""

import asyncio
import json
import os
import signal
import sys

from core.audit.event import CallOutcome, build_outcome_event
from core.audit.sealer import AuditSealer
from core.audit.writer import AuditWriter
from core.database_url import DatabaseAddress
from core.db import Database
from core.errors import MCPistError
from core.secret import Secret
from tests.core.audit.support import call, utc_now

WRITERS = 8


async def write(database: Database) -> None:
    writer = AuditWriter(database)

    async def one() -> None:
        while True:
            intent = call()
            try:
                await writer.write(intent)
            except MCPistError:
                await asyncio.sleep(0.02)
                continue
            say(intent.id.hex())
            writer.enqueue(build_outcome_event(intent, CallOutcome.OK, 1))

    await asyncio.gather(writer.run(), *(one() for _ in range(WRITERS)))


async def seal(database: Database) -> None:
    sealer = AuditSealer(database, utc_now)
    while True:
        try:
            say(str(await sealer.seal_once(20)))
        except Exception:  # noqa: BLE001 the database is being killed as well
            await asyncio.sleep(0.02)


async def seal_until(database: Database) -> None:
    turns_left = int(sys.argv[2])

    async def die_in_time(_size: int) -> None:
        nonlocal turns_left
        turns_left -= 1
        if not turns_left:
            os.kill(os.getpid(), signal.SIGKILL)

    say(str(await AuditSealer(database, utc_now, next_turn=die_in_time).seal_once()))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main() -> None:
    said = json.loads(sys.stdin.readline())
    database = Database(DatabaseAddress(Secret(said["url"]), said["user"], Secret(said["password"])))
    await database.open()
    await {"write": write, "seal": seal, "seal-until": seal_until}[sys.argv[1]](database)


if __name__ == "__main__":
    asyncio.run(main())
