"""The way of one broker process to vendors' OAuth servers, and the accounts that it keeps fresh there."""

import contextlib

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.refresh.refresher import REFRESH_OUTCOMES
from broker.refresh.scheduler import run_refresher
from broker.refresh.token_service import AccountTokenService
from broker.vault.vault import Vault
from core.db import Database
from core.observability.metrics import Metrics
from server.deployment import Deployment
from server.workers.worker import Worker

SPOOL_FOLDER = "answers"


def open_vendor_accounts(
    deployment: Deployment, database: Database, vault: Vault, http: VendorHttpClient, worker: Worker, metrics: Metrics
) -> contextlib.AbstractAsyncContextManager[AccountTokenService]:
    """Open the accounts of all tenants and refresh them until the block is left; a worker that runs no
    maintenance refreshes what its callers need.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    metrics.begin_at_zero("refreshes", REFRESH_OUTCOMES)
    book, endpoint = ProviderRegistry(load_builtin_providers()), HttpTokenEndpointClient(http)
    return run_refresher(
        database,
        vault,
        book,
        endpoint,
        deployment.home / SPOOL_FOLDER,
        schedules=worker.runs_maintenance,
        count_refresh=metrics.count_refresh,
    )
