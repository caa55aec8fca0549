"""Figures over time at a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cli.client.admin_api import AdminApiClient


def fetch_figures(api: AdminApiClient, days: int, interval: str) -> dict[str, Any]:
    """Fetch the figures of the tenant over the last days, by hour or day."""
    since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    return api.get("/figures", dict[str, Any], since=since, interval=interval)
