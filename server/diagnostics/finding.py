"""Finding of a check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `state` is ``ok``, ``warning`` or ``error``."""

    check: str
    state: str
    message: str
