"""Metrics of the whole deployment, which its broker reads: accounts, OAuth clients, mandates, notifications,
audit streams, and the spool."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from broker.audit_streams.stream_settings import count_late_streams
from broker.interface import MandatePurpose
from broker.refresh.decision import RefreshTiming
from broker.refresh.spool import count_outcomes
from broker.vault.vault import Vault
from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.observability.metrics import Metrics
from server.role_database import get_utc_now

INTERVAL_SECONDS = 15.0
LATE = timedelta(minutes=10)
"""After which what should have been done counts as overdue."""
USED_WITHIN = timedelta(seconds=RefreshTiming().used_within)
_FIGURES = "SELECT vault.deployment_figures($1, $2)"
_MANDATES = "SELECT purpose, number FROM auth.count_live_mandates()"


class DeploymentFigures:
    """Figures as they were at the last look; zero before the first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._figures: Mapping[str, Any] = {}

    async def load(self) -> None:
        """Read them from the database.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        streams_late = await count_late_streams(self._database, get_utc_now() - LATE)
        figures = orjson.loads(await self._database.call(_FIGURES, USED_WITHIN, LATE))
        mandates = {row["purpose"]: row["number"] for row in await self._database.fetch(_MANDATES)}
        self._figures = {**figures, "audit_streams_late": streams_late, "mandates": mandates}

    def get_number(self, name: str) -> float:
        """Return one number."""
        return self._figures.get(name, 0)

    def get_accounts(self) -> Mapping[str, float]:
        """Return the number of accounts by status."""
        return dict.fromkeys(("active", "needs_reauth", "disabled"), 0) | self._figures.get("accounts", {})

    def get_mandates(self) -> Mapping[str, float]:
        """Return the number of live mandates by purpose."""
        return dict.fromkeys(MandatePurpose, 0) | self._figures.get("mandates", {})


@contextlib.asynccontextmanager
async def watch_deployment(metrics: Metrics, database: Database, vault: Vault, spool: Path) -> AsyncGenerator[None]:
    """Keep the deployment's figures in `metrics` until the block is left."""
    figures = DeploymentFigures(database)
    metrics.register_labelled("mcpist_accounts", figures.get_accounts)
    metrics.register_labelled("mcpist_mandates", figures.get_mandates)
    for name in ("accounts_overdue", "audit_streams_late", "oauth_clients_rejected", "notices_waiting"):
        metrics.register_observable(f"mcpist_{name}", lambda name=name: figures.get_number(name))
    metrics.register_observable("mcpist_refresh_answers_spooled", lambda: count_outcomes(spool))
    metrics.register_observable("mcpist_deployment_is_copy", lambda: not vault.outbound_allowed)
    task = PeriodicTask("reading figures for metrics", figures.load, INTERVAL_SECONDS, runs_at_start=True)
    async with run_in_background(task.name, task.run()):
        yield
