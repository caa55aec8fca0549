"""How a sign-in goes on, or ends."""

from dataclasses import dataclass
from typing import Literal

from broker.identity.admission import Choice
from core.errors import MCPistError
from core.secret import Secret

Key = Literal[
    "other_browser", "expired", "cancelled", "provider", "provider_away", "link_used",
    "not_listed", "unverified_email", "suspended", "other_account", "already_tied",
]  # fmt: skip


class SignInRefused(MCPistError):
    """Nobody is signed in. `key` says why, to the person; `provider` is its label, and empty where there is none."""

    status, code = 403, "sign_in_refused"

    def __init__(self, key: Key, provider: str = "", email: str = "") -> None:
        super().__init__("the sign-in did not succeed; start again")
        self.key: Key = key
        self.provider = provider
        self.email = email


@dataclass(frozen=True, slots=True)
class Browser:
    """Whose browser it is, as far as can be known."""

    address: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """Where the browser goes, and what its `flow` cookie holds until it comes back."""

    url: str
    binding: Secret


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The `session` cookie's value, and where the browser goes on."""

    session: Secret
    next: str


@dataclass(frozen=True, slots=True)
class ChooseTenant:
    """Several tenants let the person in."""

    email: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class AccountTied:
    """The account is one more of the session's user."""

    next: str
