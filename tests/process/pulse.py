"""Checks the health of a server until standard input ends: ``python -m tests.process.pulse PORT``.

Prints a line when it has begun, and at the end, as JSON, how many seconds each check took: of that server, and of one
in this process that does nothing; and how much longer than alone the machine lets a piece of work take (`slow`).
"""

import asyncio
import json
import sys
import time

PAUSE = 0.005
SECONDS = 30
BURN = """
import time
while True:
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < 0.05:
        sum(range(1000))
    print((time.monotonic() - began) / 0.05, flush=True)
    time.sleep(0.3)
"""


async def main(port: int) -> None:
    idle = await asyncio.start_server(_idle, "127.0.0.1", 0)
    ports = {"health": port, "idle": idle.sockets[0].getsockname()[1]}
    taken: dict[str, list[float]] = {name: [] for name in ports}
    over = asyncio.Event()

    async def checks(name: str) -> None:
        while not over.is_set():
            taken[name].append(await _timed(ports[name]))
            await asyncio.sleep(PAUSE)

    burning = await asyncio.create_subprocess_exec(sys.executable, "-c", BURN, stdout=asyncio.subprocess.PIPE)
    checking = [asyncio.create_task(checks(name)) for name in ports]
    print("begun", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    over.set()
    await asyncio.gather(*checking)
    burning.kill()
    told, _ = await burning.communicate()
    print(json.dumps({**taken, "slow": [float(line) for line in told.split()] or [1.0]}))


async def _idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    writer.close()


async def _timed(port: int) -> float:
    began = time.monotonic()
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port)
        head = await reader.readuntil(b"\r\n")
        await reader.read()
        writer.close()
    assert head.startswith(b"HTTP/1.1 200"), head
    return time.monotonic() - began


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
