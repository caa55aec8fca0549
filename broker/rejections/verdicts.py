"""Results of presenting a rejected credential to the vendor again."""

from dataclasses import dataclass
from enum import StrEnum


class CredentialVerdict(StrEnum):
    """The answer to one question."""

    ACCEPTED = "accepted"
    """Anything that is said to somebody who is known, a missing right included."""
    REJECTED = "rejected"
    BUSY = "busy"
    """The vendor asks to wait, which says nothing of the credential."""
    UNKNOWN = "unknown"
    """It cannot be asked now, or not in this way."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The verdict; `wait` is for how many seconds a busy vendor wants to be left alone."""

    verdict: CredentialVerdict
    retry_after: float = 0.0
