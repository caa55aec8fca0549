"""The canary and data folders of products that run as processes: their keys are watched for, their logs heard."""

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.canary import SUITE

LOGS = ("log", "../log", "postgres/server.log")
PRIVATE = "PRIVATE KEY"
KEY_PART = 40  # the end of a PEM's body: how it begins is the same for all keys of its kind


def watch_home(home: Path) -> None:
    """Watch for every key, password and pepper of a data folder."""
    for path in (*home.glob("keys/*.json"), *home.glob("postgres/*.password"), *home.glob("**/*.pem")):
        for secret in _secrets(path.read_text()):
            SUITE.watch(secret)


def hear_home(home: Path) -> None:
    """Hear what the processes on a data folder logged, with its own keys watched for."""
    watch_home(home)
    for log in LOGS:
        if (path := home / log).exists():
            SUITE.hear(f"{log} of a product's process", path.read_bytes())


def _secrets(text: str) -> Iterator[str | bytes]:
    if text.startswith("-----BEGIN"):
        if PRIVATE in text:
            yield "".join(text.splitlines()[1:-1])[-KEY_PART:]
    elif text.startswith("{"):
        yield from _strings(json.loads(text))
    else:
        yield text.strip()


def _strings(value: Any) -> Iterator[str | bytes]:
    """Every text, and the key that it may be the base64 of."""
    if isinstance(value, dict):
        for inner in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value
        with suppress(binascii.Error):
            yield base64.b64decode(value, validate=True)
