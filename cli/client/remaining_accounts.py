"""Vendor accounts that stay active after their owner was removed, as a server reports them."""

from collections.abc import Sequence
from typing import Any

from cli.client.server_http import ServerResponse
from core.directory.account_revocation import RevocationResult


def parse_remaining_accounts(answer: ServerResponse) -> Sequence[RevocationResult]:
    """Those that live on there; none where the server is older and does not say."""
    told: Any = answer.json() if answer.status == 200 else {}
    return [
        RevocationResult(
            str(one["provider"]), str(one["account"]), still_active=True, manage_url=str(one["manage_url"])
        )
        for one in told.get("remaining_accounts", ())
    ]
