"""A process that owns a data folder's server until SIGTERM comes: `python -m … HOME [ADOPT]`.

With ADOPT it becomes the parent of its orphaned grandchildren and never reaps them, as PID 1 of a container does.
It imports nothing but our own code and the standard library, so that another user can run it with another Python.
"""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from server.postgres.process import read_pid_file
from server.postgres.supervisor import EmbeddedPostgres

_PR_SET_CHILD_SUBREAPER = 36


async def own(home: Path) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)  # a product that is still draining
    postgres = EmbeddedPostgres(home)
    address = await postgres.start()
    noted = read_pid_file(home / "postgres" / "data")
    assert noted is not None
    print("ready", noted.pid, address.socket_dir, os.getpid(), flush=True)
    await stopped.wait()
    await postgres.stop()
    print("stopped", flush=True)


def adopt(home: str) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    subprocess.Popen([sys.executable, "-m", "tests.server.postgres.owner", home])
    signal.pause()


if __name__ == "__main__":
    if "ADOPT" in sys.argv:
        adopt(sys.argv[1])
    else:
        asyncio.run(own(Path(sys.argv[1])))
