"""Spool of refresh outcomes on the local disk, sealed as in the database, until the database has stored them.

An answer is written here before it is stored and removed after, so that neither a kill nor a database that stays away
loses it: at the next start it is stored, or kept as a candidate. The files hold nothing that opens anywhere but in the
vault, and in its own place there.
"""

import base64
import contextlib
import logging
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from broker.connections.account_snapshot import AccountRef
from broker.refresh.outcome import RefreshOutcome
from core.log_events import describe_error

log = logging.getLogger(__name__)

SUFFIX = ".answer"
MOST_BYTES = 1 << 20
_BLOBS = ("access", "refresh", "candidate_access", "candidate_refresh")
_TIMES = ("expires_at", "refresh_at", "idle_at", "refresh_ends_at")


def count_outcomes(folder: Path) -> int:
    """Count the outcomes in a folder that the database has not stored; 0 where it cannot be read."""
    try:
        return sum(name.endswith(SUFFIX) for name in os.listdir(folder))
    except OSError:
        return 0


class Spool:
    """Folder of outcomes, one file each, readable by the product's user alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> None:
        """Create the folder."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, outcome: RefreshOutcome) -> Path | None:
        """Write an outcome; None on failure, which must not keep it from the database.

        Against a kill it is safe at once. It is not waited for the disk: what fails with the machine is the database's
        to keep, and where the database is away, :meth:`sync` waits.
        """
        path = self._folder / f"{outcome.ref.id}.{outcome.version}.{outcome.lease_owner}{SUFFIX}"
        half = path.with_suffix(".half")
        try:
            with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(_encode_outcome(outcome))
            half.replace(path)
        except Exception as error:  # noqa: BLE001 the database has to get it all the same
            log.error(
                "refresh outcome cannot be written to the spool",
                extra={"event": "spool_write_failed", "account": str(outcome.ref.id), **describe_error(error)},
            )
            return None
        return path

    def sync(self, path: Path) -> None:
        """Wait until the file is on disk. Blocks: call it in a thread."""
        with contextlib.suppress(OSError):
            for synced_path, flags in ((path, os.O_RDONLY), (self._folder, os.O_RDONLY | os.O_DIRECTORY)):
                opened = os.open(synced_path, flags)
                try:
                    os.fsync(opened)
                finally:
                    os.close(opened)

    def remove(self, path: Path) -> None:
        """Delete the file of a stored outcome."""
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)

    def iterate_pending(self) -> Iterator[tuple[Path, RefreshOutcome]]:
        """Yield the outcomes that ended processes left behind; other files are ignored."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                with path.open("rb") as file:
                    outcome = _decode_outcome(file.read(MOST_BYTES))
            except FileNotFoundError:  # its own process has stored it meanwhile
                continue
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.error(
                    "spool file cannot be read and is left in place",
                    extra={"event": "spool_file_unreadable", "file": path.name, "error": type(error).__name__},
                )
                continue
            yield path, outcome


def _encode_outcome(outcome: RefreshOutcome) -> bytes:
    blobs = {name: _encode_blob(getattr(outcome, name)) for name in _BLOBS}
    times = {name: getattr(outcome, name) for name in _TIMES}
    rest = {
        "tenant": str(outcome.ref.tenant_id),
        "account": str(outcome.ref.id),
        "version": outcome.version,
        "owner": str(outcome.lease_owner),
        "number": outcome.attempt_number,
        "candidate": str(outcome.candidate_id),
        "scopes": outcome.scopes,
        "ends_old": outcome.invalidates_old_access,
    }
    return orjson.dumps(rest | blobs | times)


def _decode_outcome(text: bytes) -> RefreshOutcome:
    document: dict[str, Any] = orjson.loads(text)
    blobs = {
        name: None if document[name] is None else base64.b64decode(document[name], validate=True) for name in _BLOBS
    }
    times = {name: None if document.get(name) is None else datetime.fromisoformat(document[name]) for name in _TIMES}
    return RefreshOutcome(
        ref=AccountRef(UUID(document["tenant"]), UUID(document["account"])),
        version=int(document["version"]),
        lease_owner=UUID(document["owner"]),
        attempt_number=int(document["number"]),
        candidate_id=UUID(document["candidate"]),
        scopes=None if document["scopes"] is None else tuple(map(str, document["scopes"])),
        invalidates_old_access=bool(document.get("ends_old")),
        **blobs,  # type: ignore[arg-type]
        **times,
    )


def _encode_blob(blob: bytes | None) -> str | None:
    return None if blob is None else base64.b64encode(blob).decode()
