"""Vendor accounts that stay active after their owner was removed, as a server reports them."""

from collections.abc import Sequence
from typing import Any

from cli.client.server_http import ServerResponse
from core.directory.account_revocation import RevocationResult


def parse_remaining_accounts(response: ServerResponse) -> Sequence[RevocationResult]:
    """Parse the accounts that stay active; none where an older server does not report them."""
    body: Any = response.json() if response.status == 200 else {}
    return [
        RevocationResult(
            str(account["provider"]), str(account["account"]), still_active=True, manage_url=str(account["manage_url"])
        )
        for account in body.get("remaining_accounts", ())
    ]
