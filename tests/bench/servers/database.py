"""A PostgreSQL of its own, set up as the product's: for a peer that needs one."""

import argparse
import asyncio
import json
import signal
from pathlib import Path
from urllib.parse import quote

from server.postgres.supervisor import EmbeddedPostgres


async def _serve(home: Path) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    postgres = EmbeddedPostgres(home)
    address = await postgres.start()
    try:
        login = f"{address.superuser}:{quote(address.password)}@"
        print(json.dumps({"url": address.build_url().replace(f"{address.superuser}@", login)}), flush=True)
        await ended.wait()
    finally:
        await postgres.stop()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args().home))


if __name__ == "__main__":
    main()
