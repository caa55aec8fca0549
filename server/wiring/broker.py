"""The trust zone in this process: the vault opened, and everything that verifies, leases, signs people in and issues
tokens, on the broker's own database role."""

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.audit_passes import SigningVerifier, load_signer
from broker.authorization_server.access_tokens import AccessTokens
from broker.authorization_server.client_trust import ClientTrustReader, build_trust_reader
from broker.authorization_server.external_issuer import ExternalIssuerVerifier
from broker.authorization_server.signing_keys import SigningKeys, open_signing_keys
from broker.identity.api_tokens import ApiTokens
from broker.identity.composite_verifier import CompositeVerifier
from broker.identity.identity_services import IdentityServices, build_identity_services
from broker.identity.in_process_verifier import InProcessSubject, InProcessVerifier
from broker.identity.peppers import Peppers, open_peppers
from broker.identity.provider_registry import StoredProviders
from broker.identity.settings import IdentitySettings
from broker.interface import Verifier
from broker.lease_service import LeaseService
from broker.local import LocalBroker
from broker.mandates.mandate_service import MandateService
from broker.mandates.mandates import Mandates
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.tenant_keys.key_kinds import TenantKeyKinds
from broker.tenant_keys.key_leases import TenantKeyLeases
from broker.vault.deployment_settings import DeploymentSettingsStore
from broker.vault.envelope import KeyProvider
from broker.vault.maintenance import run_maintenance
from broker.vault.vault import Vault, open_vault
from core.audit.digest_key_check import check_digest_key, record_digest_key
from core.config.settings import Settings
from core.db import Database
from core.http.json_documents import JsonDocumentFetcher
from core.module_manifest import ModuleManifest, list_vendor_manifests
from core.observability.metrics import Metrics
from core.observability.tracing import NOOP_TRACER, Tracer
from core.protected_resource import build_resource_identifier
from server.data_folder import get_key_provider_settings
from server.deployment import Deployment
from server.deployment_figures import watch_deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.start_files import load_identity_settings
from server.vault_keys import load_deployment_guard, open_key_provider
from server.wiring.oauth_client import SPOOL_FOLDER, open_vendor_accounts
from server.wiring.outbound_http import open_documents, open_idp_http, open_vendor_http
from server.workers.worker import ONLY_WORKER, Worker

BROKER_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class OwnTokenSigning:
    """Signing keys and settings of our own authorization server."""

    keys: SigningKeys
    access_tokens: AccessTokens


@dataclass(frozen=True, slots=True)
class BrokerRuntime:
    """The opened trust zone. `http` leads to vendors' OAuth servers; `own_tokens` is None where another authorization
    server makes the tokens; `clock` is that of everything in it. `stored_http` leads to what
    `deployment_settings` names.
    """

    broker: LocalBroker
    database: Database
    vault: Vault
    oauth_http: VendorHttpClient
    peppers: Peppers
    identity: IdentitySettings
    tokens: ApiTokens
    identity_services: IdentityServices
    documents: JsonDocumentFetcher
    own_tokens: OwnTokenSigning | None
    clock: Callable[[], datetime]
    deployment_settings: DeploymentSettingsStore
    stored_http: JsonDocumentFetcher
    client_trust: ClientTrustReader
    mandates: Mandates
    mandate_service: MandateService


@contextlib.asynccontextmanager
async def open_broker_runtime(
    deployment: Deployment,
    settings: Settings,
    manifests: Sequence[ModuleManifest],
    *,
    clock: Callable[[], datetime] = get_utc_now,
    only_for: InProcessSubject | None = None,
    worker: Worker = ONLY_WORKER,
    metrics: Metrics | None = None,
    tracer: Tracer = NOOP_TRACER,
) -> AsyncGenerator[BrokerRuntime]:
    """Open the vault, whose key file is made at the first start, and read the identity file. With `only_for` its broker
    serves that user alone, and knows no token. Refreshes are counted in `metrics`, which get the deployment's figures
    too where they are served.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others, or the identity file is wrong; the text
            names it.
    """
    identity = load_identity_settings(settings)
    async with (
        open_key_provider(deployment, get_key_provider_settings(settings)) as keys,
        open_role_database(deployment, BROKER_ROLE, max_connections=BROKER_CONNECTIONS) as database,
        open_documents(settings) as documents,
        open_idp_http(settings, identity.providers) as idp_http,
        open_idp_http(settings) as stored_http,
    ):
        guard = await load_deployment_guard(deployment, database)
        vault = await open_vault(database, keys, clock=clock, guard=guard)
        peppers = await open_peppers(database, deployment.peppers)
        await record_digest_key(database, deployment.digest_key)
        await check_digest_key(database, deployment.digest_key, deployment.digest_key_path)
        tokens = ApiTokens(database, peppers, clock=clock)
        signing = await _open_own_token_signing(database, keys, settings, identity, clock)
        verifier = CompositeVerifier(
            tokens, _build_jwt_verifier(signing, database, settings, identity, documents, clock)
        )
        deployment_settings = DeploymentSettingsStore(database, keys, clock=clock)
        identity_services = build_identity_services(
            database,
            identity.providers,
            settings.public_url,
            clock=clock,
            http=idp_http,
            stored=StoredProviders(deployment_settings, stored_http, clock=clock),
        )
        async with (
            run_maintenance(vault, database, guard),
            open_vendor_http(settings, tracer) as http,
            open_vendor_accounts(deployment, database, vault, http, worker, metrics or Metrics()) as accounts,
            _watch_deployment(settings, deployment, metrics, database, vault, worker),
        ):
            tools, urls = list_vendor_tools(manifests), list_vendor_urls(manifests)
            hosts = {module.name: tuple(module.hosts.values()) for module in manifests if module.hosts}
            active_verifier = verifier if only_for is None else InProcessVerifier(only_for, database)
            signer = await load_signer(database)
            with_passes = SigningVerifier(active_verifier, signer)
            mandates = MandateService(
                with_passes, database, list_tools(manifests), clock=clock, signer=signer, metrics=metrics
            )
            leases = LeaseService(
                active_verifier,
                database,
                vault,
                tools,
                base_urls=urls,
                hosts=hosts,
                clock=clock,
                accounts=accounts,
                mandates=mandates,
            )
            tenant_keys = TenantKeyLeases(active_verifier, mandates, database, vault, TenantKeyKinds())
            broker = LocalBroker(with_passes, leases, mandates, tenant_keys)
            yield BrokerRuntime(
                broker,
                database,
                vault,
                http,
                peppers,
                identity,
                tokens,
                identity_services,
                documents,
                signing,
                clock,
                deployment_settings,
                stored_http,
                build_trust_reader(identity.authorization_server.trust, deployment_settings, seconds=time.monotonic),
                Mandates(database, clock=clock),
                mandates,
            )


def _watch_deployment(
    settings: Settings,
    deployment: Deployment,
    metrics: Metrics | None,
    database: Database,
    vault: Vault,
    worker: Worker,
) -> contextlib.AbstractAsyncContextManager[None]:
    if metrics is None or not settings.metrics_port:
        return contextlib.nullcontext()
    metrics.register_labelled("mcpist_database_connections", database.count_connections)
    if not worker.runs_maintenance:
        return contextlib.nullcontext()
    return watch_deployment(metrics, database, vault, deployment.home / SPOOL_FOLDER)


def list_vendor_urls(manifests: Iterable[ModuleManifest]) -> dict[str, str]:
    """List the vendors' base URLs that the modules name."""
    return {module.name: module.base_url for module in list_vendor_manifests(manifests)}


def list_vendor_tools(manifests: Iterable[ModuleManifest]) -> dict[tuple[str, str], bool]:
    """List the tools of modules that have a vendor, and whether each only reads."""
    return list_tools(list_vendor_manifests(manifests))


def list_tools(manifests: Iterable[ModuleManifest]) -> dict[tuple[str, str], bool]:
    """List the tools of modules, and whether each only reads."""
    return {(module.name, name): tool.read_only for module in manifests for name, tool in module.tools.items()}


async def _open_own_token_signing(
    database: Database,
    provider: KeyProvider,
    settings: Settings,
    identity: IdentitySettings,
    clock: Callable[[], datetime],
) -> OwnTokenSigning | None:
    server = identity.authorization_server
    if not server.enabled:
        return None
    keys, _ = await open_signing_keys(database, provider, clock=clock)
    lifetime = timedelta(minutes=server.access_token_minutes)
    return OwnTokenSigning(
        keys,
        AccessTokens(
            keys,
            database,
            issuer=settings.public_url,
            resource=build_resource_identifier(settings.public_url),
            lifetime=lifetime,
            clock=clock,
        ),
    )


def _build_jwt_verifier(
    signing: OwnTokenSigning | None,
    database: Database,
    settings: Settings,
    identity: IdentitySettings,
    documents: JsonDocumentFetcher,
    clock: Callable[[], datetime],
) -> Verifier | None:
    if signing is not None:
        return signing.access_tokens
    if identity.external is None:
        return None
    return ExternalIssuerVerifier(
        identity.external, database, documents, resource=build_resource_identifier(settings.public_url), clock=clock
    )
