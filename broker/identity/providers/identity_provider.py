"""Interface of identity providers for sign-in."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from core.errors import MCPistError
from core.secret import Secret

MAX_SUBJECT_LENGTH = 255  # OpenID Connect Core 1.0 §2
MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class VerifiedAccount:
    """An account that somebody has just proved to be theirs. It is known by `issuer` and `subject`, never by `email`.

    `email` is in its normal form, and empty unless the provider itself vouches that the address is this person's now.
    `groups` are those that the provider puts the account into; None if it does not tell.
    """

    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str = ""
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """One sign-in under way. All that is secret in it comes from `binding`, which only the browser's cookie holds."""

    provider: str
    binding: Secret
    redirect_uri: str

    @property
    def state(self) -> str:
        """Derive the `state` that the provider must return; each provider has its own."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """Derive the `nonce` that the ID token must contain."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The PKCE code verifier (RFC 7636 §4.1): 43 characters."""
        return self._derive("verifier")

    def _derive(self, purpose: str) -> str:
        key, message = self.binding.reveal().encode(), f"{purpose} {self.provider}".encode()
        return base64.urlsafe_b64encode(hmac.digest(key, message, hashlib.sha256)).rstrip(b"=").decode()


SignInFailure = Literal["cancelled", "provider", "provider_away"]


class SignInFailed(MCPistError):
    """A provider's answer does not sign anybody in.

    `failure` is "cancelled" where the person said no, "provider_away" where the provider cannot be reached, and
    "provider" where it refuses us, answers nonsense or what does not belong to this sign-in. `why` is a fixed word of
    ours, for the audit log.
    """

    status, code = 400, "sign_in_failed"

    def __init__(self, failure: SignInFailure, why: str) -> None:
        super().__init__("the sign-in did not succeed; start again")
        self.failure: SignInFailure = failure
        self.why = why


class IdentityProvider(Protocol):
    """One identity provider of the deployment."""

    @property
    def id(self) -> str:
        """As in the settings, in the redirect URI and in the audit log."""
        ...

    @property
    def label(self) -> str:
        """Return the label of the sign-in button."""
        ...

    async def start(self, flow: SignInFlow) -> str:
        """The URL to send the browser to.

        Raises:
            SignInFailed: the provider cannot be reached.
        """
        ...

    async def finish(self, flow: SignInFlow, query: Mapping[str, str]) -> VerifiedAccount:
        """Make an account of what the browser brought back; that its `state` is this flow's has been checked.

        Raises:
            SignInFailed: there is none.
        """
        ...
