"""Messages for a caller whose vendor account is missing or broken: why, what to do, and where.

The link carries no authority and no identity: the person who opens it signs in and connects their own account
(threat-model.md §2 row 5).
"""

import math

from core.connection_causes import CAUSES, OTHER, WARNINGS, find_cause
from core.connection_state import CredentialKind
from modules.kit import Module, ToolError, VendorProblem

MISCONFIGURED = "misconfigured"
ORIGIN_CHANGED = "elsewhere"
NO_SITE = "no_site"
READING_ONLY = "reading_only"
READING_ONLY_NOTE = "{title} is connected for you, but for reading only, and tools that change something need more. "
"""Of an account that works, and was not asked for more: a person allows it on the page, or an administrator does."""


class NotConnected(ToolError):
    """No credential works for the caller at this vendor. `url` is where they can connect an account, `wish` one line
    that asks them to."""

    def __init__(self, module: Module, text: str, url: str, *, retry: str = "", broken: bool, cause: str = "") -> None:
        super().__init__(text, retry=retry)
        self.module = module.name
        self.url = url
        reason = "" if cause in (ORIGIN_CHANGED, NO_SITE) else ": it is refused there"
        qualifier = f" again{reason}" if broken else ""
        limited = cause == READING_ONLY
        self.elicitation_message = (
            f"Allow changes at {module.title} too" if limited else f"Connect your {module.title} account{qualifier}"
        )


class ConnectMessages:
    """The links of one deployment."""

    def __init__(self, public_url: str) -> None:
        self._base = f"{public_url}/connect/"

    def build_url(self, module: Module) -> str:
        """Build the URL of the page on which a user connects an account for the module."""
        return self._base + module.name

    def build_note(self, module: Module, *, broken: bool, kind: CredentialKind | None, cause: str = "") -> str:
        """Build the note on a missing or broken connection: the cause, and who can repair it."""
        url = self.build_url(module)
        if cause == READING_ONLY:
            personal = f"Allow changes too at {url}; then call again."
            shared = f"An administrator can allow changes for the shared account, or connect one of your own at {url}."
            return READING_ONLY_NOTE.format(title=module.title) + (shared if kind == "shared" else personal)
        if broken and cause == MISCONFIGURED:
            text = CAUSES[cause].model.format(title=module.title)
            return f"{text}. No account is lost, and connecting again does not help."
        if not broken:
            return (
                f"{module.title} is not connected for you: you have no account of your own there, and none of your "
                f"roles shares one. Connect yours at {url} or ask an administrator to share one; then call again."
            )
        if kind == "shared":
            reason = _format_reconnect_reason(module, cause, "the account that one of your roles shares")
            return f"{reason}. An administrator can replace it, or connect one of your own at {url}; then call again."
        return f"{_format_reconnect_reason(module, cause, 'your account')}. Connect it again at {url}; then call again."

    def build_warning(self, module: Module, cause: str) -> dict[str, str]:
        """Build the warning about a working connection."""
        if cause not in WARNINGS:
            return {}
        url = self.build_url(module)
        return {"cause": cause, "note": CAUSES[cause].model.format(title=module.title, url=url), "connect": url}

    def build_account_hint(self, module: Module, error: Exception) -> str:
        """Build the hint on how to get another account or more access; "" unless a vendor has refused the account."""
        if not isinstance(error, VendorProblem) or error.kind not in ("unauthorized", "forbidden"):
            return ""
        return f". Accounts of {module.title}, and what they may do: {self.build_url(module)}"

    def build_transient_error(
        self, module: Module, cause: str, kind: CredentialKind | None, retry_after: float | None
    ) -> ToolError:
        """Build the error of a call whose account is fine, but cannot be used now."""
        owner = "the shared" if kind == "shared" else "your"
        remedy = (
            "an administrator can replace it, or connect one of your own" if kind == "shared" else "connect it again"
        )
        text = CAUSES[cause].model.format(title=module.title, whose=owner, mend=remedy, url=self.build_url(module))
        retry = f"try again in {max(1, math.ceil(retry_after))} s" if retry_after is not None else "try again later"
        return ToolError(f"{text[0].upper()}{text[1:]}", retry=retry)

    def build_not_connected_error(
        self, module: Module, *, broken: bool, kind: CredentialKind | None, cause: str = ""
    ) -> NotConnected:
        """Build the error that a call without a usable credential ends in."""
        text, _, retry = self.build_note(module, broken=broken, kind=kind, cause=cause).partition("; then call again")
        retry = f"then call again{retry}" if retry else ""
        return NotConnected(module, text, self.build_url(module), retry=retry, broken=broken, cause=cause)


def _format_reconnect_reason(module: Module, cause: str, owner: str) -> str:
    text = (find_cause(cause).model or OTHER.model).format(title=module.title, whose=owner)
    return text[0].upper() + text[1:]
