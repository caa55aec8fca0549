"""The broker's sections of the admin API for a command in its own process; nothing runs beside their routes.

What only one section needs is imported when it is opened: a command waits for it.
"""

import contextlib
from collections.abc import AsyncGenerator

from broker.identity.api_tokens import ApiTokens
from broker.identity.peppers import open_peppers
from core.api.app import ApiSection
from core.config.settings import Settings
from core.module_manifest import list_vendor_manifests
from server.deployment import Deployment
from server.installed_manifests import load_installed_manifests
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.start_files import load_identity_settings
from server.vault_keys import open_key_provider, open_vault_if_possible
from server.wiring.outbound_http import open_documents, open_idp_http, open_vendor_http


@contextlib.asynccontextmanager
async def open_identity_section(
    deployment: Deployment, settings: Settings, public_url: str
) -> AsyncGenerator[ApiSection]:
    """Open the broker's database role for the routes of identity, which need no vault.

    Raises:
        core.errors.Invalid: the identity file or the file of peppers is wrong; the text says where.
    """
    from broker.api.app import build_identity_section
    from broker.api.identity_dependencies import IdentityDependencies
    from broker.authorization_server.registered_clients import RegisteredClients
    from broker.authorization_server.trusted_issuers import TrustedIssuers
    from broker.identity.identity_services import build_identity_services
    from broker.identity.scim_tokens import ScimTokens
    from broker.mandates.mandates import Mandates
    from broker.notifications.preferences import NotificationPreferences
    from server.wiring.authorization_server import build_grants

    identity = load_identity_settings(settings)
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=3) as database,
        open_documents(settings) as documents,
    ):
        peppers = await open_peppers(database, deployment.peppers)
        identity_services = build_identity_services(
            database, identity.providers, public_url, clock=get_utc_now, http=documents
        )
        yield build_identity_section(
            IdentityDependencies(
                ApiTokens(database, peppers, clock=get_utc_now),
                identity_services.sessions,
                build_grants(database, identity, get_utc_now),
                RegisteredClients(database, peppers, clock=get_utc_now),
                identity_services.links,
                identity_services.identities,
                TrustedIssuers(database, documents, clock=get_utc_now),
                NotificationPreferences(database),
                ScimTokens(database, clock=get_utc_now),
                Mandates(database, clock=get_utc_now),
                identity_services.sign_in.list_providers,
            )
        )


@contextlib.asynccontextmanager
async def open_connect_section(
    deployment: Deployment, settings: Settings, public_url: str
) -> AsyncGenerator[ApiSection]:
    """Open the broker's database role and the vault for the routes of connecting.

    Where the vault's keys are lost everything works that encrypts and decrypts nothing.
    """
    from broker.api.routers import build_connect_section
    from server.wiring.connect import build_connect_services

    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=3) as database,
        open_documents(settings) as documents,
        open_vendor_http(settings) as http,
        open_vault_if_possible(deployment, database) as vault,
    ):
        modules = list_vendor_manifests(load_installed_manifests())
        yield build_connect_section(
            build_connect_services(database, vault, public_url, modules, http, documents, clock=get_utc_now)
        )


@contextlib.asynccontextmanager
async def open_deployment_section(
    deployment: Deployment, settings: Settings, public_url: str
) -> AsyncGenerator[ApiSection]:
    """Open the broker's database role and the vault's keys for the settings of the whole deployment.

    Raises:
        core.errors.Invalid: the identity file is wrong, or a key; the text says where.
    """
    from broker.api.deployment_dependencies import DeploymentDependencies
    from broker.api.deployment_section import build_deployment_section
    from broker.authorization_server.client_trust import ClientTrustAdministration
    from broker.disconnect.tenant_contents import TenantContentsCounter
    from broker.identity.provider_trial import ProviderTrial
    from broker.identity.stored_providers import ProviderAdministration
    from broker.vault.deployment_settings import DeploymentSettingsStore
    from server.wiring.notifications import build_sender_administration

    identity = load_identity_settings(settings)
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=3) as database,
        open_key_provider(deployment) as keys,
        open_idp_http(settings) as http,
        open_vendor_http(settings) as vendor_http,
    ):
        store = DeploymentSettingsStore(database, keys, clock=get_utc_now)
        providers = ProviderAdministration(store, identity.providers, ProviderTrial(http, public_url))
        senders = build_sender_administration(store, vendor_http, settings, get_utc_now)
        contents = TenantContentsCounter(database, clock=get_utc_now)
        trust = ClientTrustAdministration(store, identity.authorization_server.trust)
        own = identity.external is None
        yield build_deployment_section(DeploymentDependencies(providers, senders, contents, trust, public_url, own))
