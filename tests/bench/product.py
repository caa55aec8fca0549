"""The product as it is, with the bench's toy module beside its own: ``python -m tests.bench.product``.

Prints one line of JSON when it is ready. Only the catalogue is another one; everything runs as in the product.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import uvloop

from core.config.settings import Settings
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from server.all_in_one import run_all_in_one
from server.ready import ServerReady
from tests.bench.toys import BENCH


@dataclass(frozen=True, slots=True)
class Arguments:
    home: Path
    port: int
    upstream: int


def main() -> None:
    given = _arguments()
    with mock.patch("server.operator_context.load_installed_modules", return_value=_catalogue()):
        uvloop.run(run_all_in_one(unlimited(given.home, given.port, given.upstream), _progress, _ready))


def unlimited(home: Path, port: int, upstream: int) -> Settings:
    """Settings under which one caller may use all of the machine, and reach the upstream on it."""
    return Settings(
        home=home,
        port=port,
        rate_per_second=1e6,
        rate_burst=1_000_000,
        concurrency=10_000,
        connections=20_000,
        streams=20_000,
        streams_per_credential=64,
        allowed_private_hosts=(f"127.0.0.1:{upstream}",),
    )


def _arguments() -> Arguments:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", type=int, required=True)
    return Arguments(**vars(parser.parse_args()))


def _catalogue() -> Catalogue:
    return build_catalogue([*load_installed_modules().modules, BENCH])


def _progress(text: str) -> None:
    print(text, file=sys.stderr)


def _ready(ready: ServerReady) -> None:
    token = ready.api_token.reveal() if ready.api_token else None
    print(json.dumps({"api_token": token}), flush=True)


if __name__ == "__main__":
    main()
