"""Does a secret that was made in a test turn up where it must not: logs, audit rows, metrics, answers?"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.secret import Secret
from core.token_format import parse_token


@dataclass(slots=True)
class Canary:
    """Secrets on one side, all that was said on the other."""

    secrets: list[bytes] = field(default_factory=list)
    said: list[tuple[str, bytes]] = field(default_factory=list)

    def register(self, token: Secret) -> str:
        """Watch for `token`; the text to send. Of an API token, its secret part alone would be enough to leak."""
        parts = parse_token(token.reveal())
        self.secrets.append((parts.secret if parts else token).reveal().encode())
        return token.reveal()

    def hear(self, where: str, what: bytes) -> None:
        """Keep something that others could read."""
        self.said.append((where, what))

    def check(self) -> None:
        """Fail if any secret was said anywhere."""
        leaks = {where for where, what in self.said if any(secret in what for secret in self.secrets)}
        assert not leaks, f"a secret can be read in: {', '.join(sorted(leaks))}"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear every log record of every library, down to DEBUG."""
        handler, root = _Ear(self), logging.getLogger()
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            root.removeHandler(handler)
            root.setLevel(level)


class _Ear(logging.Handler):
    def __init__(self, canary: Canary) -> None:
        super().__init__(logging.DEBUG)
        self._canary = canary

    def emit(self, record: logging.LogRecord) -> None:
        said = f"{self.format(record)} {record.__dict__!r}"
        self._canary.hear(f"log of {record.name}", said.encode(errors="replace"))
