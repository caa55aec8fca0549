"""Connections of an operator at the command line to the console's and the broker's side of one deployment."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cached_property

from broker.identity.api_tokens import ApiTokens
from broker.identity.browser_sessions import Sessions
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.peppers import open_peppers
from core.config.settings import Settings
from core.db import Database
from core.migrations import migrate
from core.module_manifest import ModuleManifest
from gateway.catalogue import Catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from server.data_folder import Report, attach_database
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, CONSOLE_ROLE, get_utc_now, open_role_database


@dataclass(frozen=True)
class OperatorContext:
    """An opened deployment. `console` administers, `tokens` and `links` are the broker's services."""

    deployment: Deployment
    console: Database
    tokens: ApiTokens
    links: OneTimeLinks

    @cached_property
    def catalogue(self) -> Catalogue:
        """Load the installed modules. Most commands do without, and it takes a while."""
        return load_installed_modules()

    @property
    def manifests(self) -> tuple[ModuleManifest, ...]:
        """The same as data."""
        return build_module_manifests(self.catalogue)


@contextlib.asynccontextmanager
async def open_operator_context(settings: Settings, report: Report) -> AsyncGenerator[OperatorContext]:
    """Open the data folder for administration; an empty database gets its schema, an older one is refused."""
    async with attach_database(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords, upgrade=False)
        async with open_operator_context_on(deployment) as context:
            yield context


@contextlib.asynccontextmanager
async def open_operator_context_on(deployment: Deployment) -> AsyncGenerator[OperatorContext]:
    """Open the console's and the broker's connections to a deployment whose schema is up to date."""
    async with (
        open_role_database(deployment, CONSOLE_ROLE, max_connections=3) as console,
        open_role_database(deployment, BROKER_ROLE, max_connections=5) as broker,
    ):
        tokens = ApiTokens(broker, await open_peppers(broker, deployment.peppers), clock=get_utc_now)
        links = OneTimeLinks(broker, Sessions(broker, clock=get_utc_now), clock=get_utc_now)
        yield OperatorContext(deployment, console, tokens, links)
