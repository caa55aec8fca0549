"""Results of sign-in steps."""

from dataclasses import dataclass
from typing import Literal

from broker.identity.admission import TenantChoice
from core.errors import MCPistError
from core.secret import Secret

RefusalKey = Literal[
    "other_browser", "expired", "cancelled", "provider", "provider_away", "link_used",
    "not_listed", "unverified_email", "suspended", "other_account", "already_tied",
]  # fmt: skip


class SignInRefused(MCPistError):
    """Nobody is signed in. `key` says why, to the person; `provider` is its label, and empty where there is none."""

    status, code = 403, "sign_in_refused"

    def __init__(self, key: RefusalKey, provider: str = "", email: str = "") -> None:
        super().__init__("the sign-in did not succeed; start again")
        self.key: RefusalKey = key
        self.provider = provider
        self.email = email


@dataclass(frozen=True, slots=True)
class Browser:
    """Browser that signs in: its address and description, as far as they are known."""

    address: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class SignInRedirect:
    """Redirect that starts a sign-in, with the value of the `flow` cookie."""

    url: str
    binding: Secret


@dataclass(frozen=True, slots=True)
class SignInResult:
    """Completed sign-in: the `session` cookie's value and the URL to continue at."""

    session: Secret
    next_path: str


@dataclass(frozen=True, slots=True)
class TenantSelection:
    """Pending sign-in of a person whom several tenants admit."""

    email: str
    choices: tuple[TenantChoice, ...]


@dataclass(frozen=True, slots=True)
class LinkedAccount:
    """Account that was linked to the session's user."""

    next_path: str
