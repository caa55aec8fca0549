"""Output about vendor accounts that a command has removed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.output import print_note

if TYPE_CHECKING:
    from broker.disconnect.disconnect_service import DisconnectResult
    from core.directory.account_revocation import RevocationResult


def print_remaining_accounts(results: "Sequence[RevocationResult]") -> None:
    """Print the accounts that stay active at their vendors."""
    for result in results:
        if result.still_active:
            print_note(_format_note(result.provider, result.account, result.manage_url))


def print_disconnect_result(result: "DisconnectResult") -> None:
    """Print how disconnecting one account ended, where the user has to act."""
    if result.outcome == "api_key":
        print_note("Note: at the vendor the key stays valid until it is revoked there")
    elif result.still_active:
        print_note(_format_note(result.provider, result.account, result.manage_url))


def _format_note(provider: str, account: str, manage_url: str) -> str:
    location = f": {manage_url}" if manage_url else ""
    return (
        f"Note: the access to {account or 'an account'} could not be revoked at {provider}; revoke it there{location}"
    )
