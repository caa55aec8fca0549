"""The broker's part of the admin API for a command in its own process; nothing runs beside its routes."""

import contextlib
from collections.abc import AsyncGenerator
from importlib.metadata import version

from starlette.types import ASGIApp

from broker.api.app import build_identity_api
from broker.api.identity_dependencies import IdentityDependencies
from broker.api.routers import build_connect_section
from broker.authorization_server.registered_clients import RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.api_tokens import ApiTokens
from broker.identity.identity_services import build_identity_services
from broker.identity.pepper import load_or_create
from broker.vault.key_wrapping import InMemoryKeyProvider, WrappedKey
from broker.vault.vault import Vault, open_vault
from core.api.security import ApiSecurity
from core.config.settings import Settings
from core.db import Database
from core.errors import Invalid
from core.module_manifest import list_vendor_manifests
from server.data_folder import get_key_provider_settings
from server.deployment import Deployment
from server.installed_manifests import load_installed_manifests
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.start_files import load_identity_settings
from server.vault_keys import NO_DEPLOYMENT, load_deployment_guard, open_key_provider
from server.wiring.authorization_server import build_grants
from server.wiring.broker import open_documents
from server.wiring.connect import build_connect_services
from server.wiring.oauth_client import open_vendor_http


@contextlib.asynccontextmanager
async def open_offline_broker_api(
    deployment: Deployment, settings: Settings, security: ApiSecurity
) -> AsyncGenerator[ASGIApp]:
    """Open the broker's database role and the vault, and build the application of the broker's routes.

    Where the vault's keys are lost everything works that encrypts and decrypts nothing.

    Raises:
        core.errors.Invalid: the identity file is wrong; the text says where.
    """
    identity = load_identity_settings(settings)
    async with (
        open_role_database(deployment, BROKER_ROLE, most=4) as database,
        open_documents(settings) as documents,
        open_vendor_http(settings) as http,
        _open_vault_if_possible(deployment, settings, database) as vault,
    ):
        peppers = load_or_create(deployment.peppers)
        people = build_identity_services(database, identity.providers, settings.public_url, clock=get_utc_now)
        parts = IdentityDependencies(
            ApiTokens(database, peppers, clock=get_utc_now),
            people.sessions,
            build_grants(database, identity, get_utc_now),
            RegisteredClients(database, peppers, clock=get_utc_now),
            people.links,
            people.identities,
            TrustedIssuers(database, documents, clock=get_utc_now),
        )
        modules = list_vendor_manifests(load_installed_manifests())
        connect = build_connect_services(
            database, vault, settings.public_url, modules, http, documents, clock=get_utc_now
        )
        yield build_identity_api(security, parts, build_connect_section(connect), version=version("mcpist"))


@contextlib.asynccontextmanager
async def _open_vault_if_possible(
    deployment: Deployment, settings: Settings, database: Database
) -> AsyncGenerator[Vault]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            opening = open_key_provider(deployment, get_key_provider_settings(settings))
            keys = await stack.enter_async_context(opening)
            guard = await load_deployment_guard(deployment, database)
            vault = await open_vault(database, keys, clock=get_utc_now, guard=guard)
        except Invalid as error:
            vault = Vault(_MissingKeys(error), NO_DEPLOYMENT, clock=get_utc_now)
        yield vault


class _MissingKeys(InMemoryKeyProvider):
    """No keys; whoever needs one to encrypt is told why there is none."""

    def __init__(self, error: Invalid) -> None:
        super().__init__("", {})
        self._error = error

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        raise self._error
