"""One gateway with all its parts, built from settings and a deployment; started and stopped in order."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker.identity.sign_in_state import MANDATES_PATH
from broker.interface import Broker, CredentialRefusal, MandateReference, RefusalReason, RemoteBroker
from core.audit.failed_auth import AuthFailureLog
from core.audit.passes import AuditPasses
from core.audit.writer import AuditWriter
from core.caller import Caller
from core.concurrency.background import run_in_background
from core.concurrency.fair_queue import FairQueue
from core.concurrency.periodic import PeriodicTask
from core.concurrency.rate_limits import CallerLimits
from core.concurrency.replicated_limits import ReplicatedCallerLimits
from core.config.settings import Settings
from core.db import Database
from core.generations import Generations
from core.http.outbound_addresses import AllowedAddresses
from core.http_server.asgi import PathDispatcher
from core.observability.metrics import Metrics
from core.observability.tracing import NOOP_TRACER, Tracer
from core.protected_resource import METADATA_PATHS as METADATA_PATHS
from core.protected_resource import METADATA_ROOT, RESOURCE_PATH, ProtectedResourceMetadata, build_metadata_url
from core.release import get_release
from core.sealed_records import RecordSealer
from gateway.auth.authenticator import CallerAuthenticator
from gateway.auth.mandate_callers import MandateAuthenticator
from gateway.capabilities.completions import CompletionMethods
from gateway.capabilities.paging import ListPages
from gateway.capabilities.prompts import PromptMethods
from gateway.capabilities.resources import ResourceMethods
from gateway.catalogue import Catalogue, build_catalogue
from gateway.connection_messages import ConnectMessages
from gateway.lease_cache import LeaseCache
from gateway.mcp.call_supervisor import CallSupervisor
from gateway.mcp.cancellation import CANCEL_CHANNEL, Cancellations
from gateway.mcp.elicitation import Elicitor
from gateway.mcp.endpoint import McpEndpoint
from gateway.mcp.interfaces import Release
from gateway.mcp.request_context import RequestContext
from gateway.mcp.settings import McpSettings
from gateway.meta_tools.handlers import MetaTools
from gateway.module_lifespans import open_module_lifespans
from gateway.observability.call_log import CallLog
from gateway.observability.call_observer import CallObserver
from gateway.observability.tracing_handlers import wrap_handlers
from gateway.plain_view.plain_tools import PlainTools
from gateway.results.kept_results import KeptResults
from gateway.results.module import build_results_module
from gateway.results.store import ResultStore
from gateway.service_settings import ServiceSettingsReader
from gateway.sieve.sieve import Sieve
from gateway.streams.client_streams import ClientStreams, StreamWatches
from gateway.streams.list_changes import ListWatch
from gateway.streams.listening import ListenMethod
from gateway.streams.resource_changes import RESOURCE_CHANNEL, ResourceAnnouncer
from gateway.streams.resource_names import ResourceNames
from gateway.streams.resource_subscriptions import SUBSCRIPTION_CHANNEL, ResourceSubscriptionStore
from gateway.streams.resource_updates import ResourceWatch
from gateway.streams.stream_hub import StreamHub
from gateway.streams.subscribing import SubscriptionMethods
from gateway.tasks.core_tasks import CoreTasks
from gateway.tasks.job_execution import CallJobHandler
from gateway.tasks.job_starter import BATCH, CALL, DeferredWork, JobStarter
from gateway.tasks.module import build_jobs_module
from gateway.tasks.own_jobs import OwnJobs
from gateway.tasks.own_schedules import OwnSchedules
from gateway.tasks.task_extension import TaskExtension
from gateway.tasks.task_news import CoreTaskNews
from gateway.tool_route_description import build_route_descriptions
from gateway.tool_routes import build_tool_routes
from gateway.tool_runner import ToolRunner
from gateway.uploads.upload_route import build_upload_route
from gateway.vendor_connections import VendorConnections
from gateway.vendor_session.client_factory import VendorClientFactory
from jobs.events import JobEvents
from jobs.handler import JobHandler
from jobs.job_run import MAX_RUN_SECONDS
from jobs.queue import JobQueue
from jobs.schedule_runner import VerifyMandate
from jobs.schedules import Schedules
from server.deployment import Deployment
from server.health import (
    DEGRADED,
    Check,
    HealthMonitor,
    build_health_routes,
    build_search_health_route,
    check_background_tasks,
    create_audit_check,
    create_disk_check,
    create_jobs_check,
    register_audit_metrics,
    register_health_metrics,
)
from server.role_database import get_utc_now, open_role_database
from server.start_files import load_identity_settings
from server.tool_translations import load_translations
from server.wiring.search import SearchRuntime, open_search_engine
from server.workers.worker import ONLY_WORKER, Worker

GATEWAY_CONNECTIONS = 16
START_SECONDS = 2.0
JOB_MARGIN_SECONDS = 60.0
"""Seconds before a worker stops a job by which it ends itself, and says so in its result."""
RESERVE = 5.0, 20, 4
"""What a caller may send of `RESERVED_METHODS` to each process when all else is refused: messages a second, in a burst,
and at once."""
SWEEP_RESULTS_SECONDS = 600.0
SWEEP_SUBSCRIPTIONS_SECONDS = 3_600.0


async def verify_no_mandate(reference: MandateReference) -> CredentialRefusal:
    """Refuse every mandate: this process has no worker."""
    return CredentialRefusal(RefusalReason.UNKNOWN)


def do_nothing() -> None:
    """End no event streams."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that works: its ASGI application, and what the process that runs it looks after."""

    app: PathDispatcher
    endpoint: McpEndpoint
    health: HealthMonitor
    metrics: Metrics
    refusals: AuthFailureLog
    end_event_streams: Callable[[], None] = do_nothing
    """Ends the console's event streams, where this process serves the console."""
    serves_console: bool = False
    job_handlers: Mapping[str, JobHandler] = field(default_factory=dict[str, JobHandler])
    """What runs the jobs of calls, by their kind, for a worker of this process."""
    verify_mandate: VerifyMandate = verify_no_mandate
    """Asks the broker whether the mandate of a schedule counts, for a worker of this process."""


@contextlib.asynccontextmanager
async def open_gateway(
    settings: Settings,
    deployment: Deployment,
    broker_context: contextlib.AbstractAsyncContextManager[Broker],
    catalogue: Catalogue,
    call_log: CallLog,
    worker: Worker = ONLY_WORKER,
    metrics: Metrics | None = None,
    tracer: Tracer = NOOP_TRACER,
) -> AsyncGenerator[Gateway]:
    """Build a gateway and keep its tasks running; at the end, what waits for the audit log is written.

    `broker_context` is the way to the broker, for as long as the gateway runs.
    """
    async with (
        open_role_database(deployment, deployment.data_plane_role, max_connections=GATEWAY_CONNECTIONS) as database,
        broker_context as broker,
        open_vendor_sessions(settings) as sessions,
        open_module_lifespans(catalogue.modules),
        _open_caller_limits(settings, worker) as limits,
        open_search_engine(settings, database, broker) as search,
        _run_background_tasks() as start,
    ):
        generations = Generations(deployment.get_role_address(deployment.data_plane_role), database)
        events = JobEvents(deployment.get_role_address(deployment.data_plane_role))
        passes = AuditPasses()
        audit = AuditWriter(database, pass_of=passes.get)
        start(generations.run())
        start(audit.run())
        start(events.run())
        dependencies = _GatewayDependencies(
            settings,
            deployment,
            broker,
            catalogue,
            call_log,
            tracer,
            database,
            generations,
            audit,
            passes,
            sessions,
            limits,
            worker,
            metrics or Metrics(),
            JobQueue(database, RecordSealer(deployment.digest_key), events),
            search,
        )
        gateway = _build_gateway(dependencies, start)
        await generations.wait_until_trusted(timeout=START_SECONDS)
        yield gateway
        gateway.refusals.flush()
        await audit.close()


@contextlib.asynccontextmanager
async def open_vendor_sessions(settings: Settings) -> AsyncGenerator[VendorClientFactory]:
    """Open the one HTTP session of this process towards vendors."""
    sessions = VendorClientFactory(AllowedAddresses.from_hosts(settings.allowed_private_hosts))
    await sessions.open()
    try:
        yield sessions
    finally:
        await sessions.close()


@dataclass(frozen=True, slots=True)
class _GatewayDependencies:
    settings: Settings
    deployment: Deployment
    broker: Broker
    catalogue: Catalogue
    call_log: CallLog
    traces: Tracer
    database: Database
    generations: Generations
    audit: AuditWriter
    passes: AuditPasses
    sessions: VendorClientFactory
    limits: CallerLimits
    worker: Worker
    metrics: Metrics
    queue: JobQueue
    search: SearchRuntime


def _build_gateway(dependencies: _GatewayDependencies, start: Callable[[Coroutine[Any, Any, None]], None]) -> Gateway:
    metrics = dependencies.metrics
    observers = CallObserver(metrics, dependencies.call_log)
    refusals = _build_refusals(dependencies, metrics)
    authenticate = CallerAuthenticator(
        dependencies.broker, dependencies.database, dependencies.generations, refusals, dependencies.passes
    )
    links = ConnectMessages(dependencies.settings.public_url)
    leases = LeaseCache(dependencies.broker, dependencies.generations, links)
    vendors = VendorConnections(dependencies.broker, dependencies.generations, leases, dependencies.sessions, links)
    store = ResultStore(dependencies.database, RecordSealer(dependencies.deployment.digest_key), get_utc_now)
    results = KeptResults(store, dependencies.catalogue, vendors)
    jobs = OwnJobs(dependencies.queue, lambda caller: sieve.get_view(caller))

    async def plan_batch(request: RequestContext, commands: Any) -> DeferredWork:
        return await meta_tools.plan_batch(request, commands)

    schedules = OwnSchedules(
        Schedules(dependencies.database, RecordSealer(dependencies.deployment.digest_key)),
        dependencies.broker,
        lambda caller: sieve.get_view(caller),
        plan_batch,
        get_utc_now,
    )
    jobs_module = build_jobs_module(jobs, schedules, dependencies.settings.public_url + MANDATES_PATH)
    built_in = build_catalogue([build_results_module(results), jobs_module])
    sieve = Sieve(dependencies.catalogue, built_in, load_translations)
    start(sieve.prepare_tools())
    start(PeriodicTask("removing expired results", store.sweep, SWEEP_RESULTS_SECONDS).run())
    limits = dependencies.limits
    runner = ToolRunner(
        sieve,
        dependencies.database,
        vendors,
        ServiceSettingsReader(dependencies.database, dependencies.generations.current),
        dependencies.audit,
        dependencies.deployment.digest_key,
        observers,
        dependencies.traces,
        lambda caller, names: limits.charge(caller.limits_key, names),
        ResourceAnnouncer(dependencies.generations.announce).announce,
        dependencies.search.engine,
    )
    patience = dependencies.settings.job_patience
    starter = JobStarter(dependencies.queue, dependencies.broker, jobs, patience=patience)
    plain_tools = PlainTools(dependencies.catalogue, built_in)
    pages = ListPages(dependencies.deployment.digest_key)
    meta_tools = MetaTools(sieve, runner, vendors, results, starter, plain_tools, pages)
    elicitor = Elicitor(dependencies.deployment.digest_key)
    extension = TaskExtension(jobs, meta_tools.call_tool, starter.answer)
    names = ResourceNames(dependencies.catalogue)
    watches = _build_stream_watches(dependencies, sieve, plain_tools, authenticate, names)
    subscriptions = ResourceSubscriptionStore(dependencies.database, get_utc_now, names.get)
    start(PeriodicTask("removing expired subscriptions", subscriptions.sweep, SWEEP_SUBSCRIPTIONS_SECONDS).run())
    handlers = {
        **SubscriptionMethods(sieve, runner, subscriptions).get_handlers(),
        **ListenMethod(watches, runner, extension.create_subscriptions()).get_handlers(),
        **meta_tools.get_handlers(),
        **ResourceMethods(sieve, runner, pages).get_handlers(),
        **PromptMethods(sieve, runner, pages).get_handlers(),
        **CompletionMethods(sieve, runner).get_handlers(),
    }
    endpoint = McpEndpoint(
        wrap_handlers(handlers, dependencies.traces),
        authenticate,
        _build_mcp_settings(dependencies.settings),
        server_version=get_release(),
        instructions=meta_tools.get_instructions,
        admit=_build_admission(limits),
        admit_reserved=_build_admission(CallerLimits(*RESERVE, clock=time.monotonic)),
        count_limited=_count_limited_callers(metrics),
        is_current=authenticate.is_current,
        observe=observers.on_http_answer,
        elicitation=elicitor,
        callers=authenticate,
        turns=_create_turns(dependencies.settings, metrics),
        create_cancellations=lambda calls: _create_cancellations(dependencies, calls),
        task_handlers={
            "2025-11-25": wrap_handlers(CoreTasks(jobs, meta_tools.call_tool).get_handlers(), dependencies.traces),
            "2026-07-28": wrap_handlers(extension.get_handlers(), dependencies.traces),
        },
        streams=ClientStreams(
            watches, subscriptions, elicitor, vendors.list_connected_modules, CoreTaskNews(jobs).watch
        ),
        stop_waiting=jobs.stop_waiting,
    )
    health = HealthMonitor(_build_health_checks(dependencies), clock=time.monotonic)
    register_health_metrics(metrics, health, can_write=lambda: not dependencies.audit.stalled)
    _register_gauges(metrics, dependencies, authenticate)
    metadata = ProtectedResourceMetadata(
        dependencies.settings.public_url, _get_authorization_server(dependencies.settings)
    )
    app = PathDispatcher(
        {
            RESOURCE_PATH: endpoint,
            **dict.fromkeys(METADATA_PATHS, metadata),
            **build_health_routes(health),
            **build_tool_routes(endpoint),
            **build_route_descriptions(endpoint, dependencies.catalogue.tools),
            **build_upload_route(endpoint, authenticate),
            "/healthcheck": build_search_health_route(health, dependencies.search.embedders.describe),
        },
        {f"{RESOURCE_PATH}/": endpoint, f"{METADATA_ROOT}{RESOURCE_PATH}/": metadata},
    )
    job_handlers = _build_job_handlers(dependencies, MetaTools(sieve, runner, vendors, results))
    verify = dependencies.broker.verify_mandate
    return Gateway(app, endpoint, health, metrics, refusals, job_handlers=job_handlers, verify_mandate=verify)


def _build_job_handlers(dependencies: _GatewayDependencies, meta_tools: MetaTools) -> dict[str, JobHandler]:
    """Build the handlers of jobs. Their `meta_tools` start no further jobs: an asynchronous tool is run."""
    authenticator = MandateAuthenticator(
        dependencies.broker, dependencies.database, dependencies.generations, dependencies.passes
    )
    handler = CallJobHandler(
        wrap_handlers({"tools/call": meta_tools.call_tool}, dependencies.traces)["tools/call"],
        authenticator,
        CallSupervisor(math.inf, math.inf),
        max_seconds=MAX_RUN_SECONDS - JOB_MARGIN_SECONDS,
    )
    return dict.fromkeys((CALL, BATCH), handler)


def _build_stream_watches(
    dependencies: _GatewayDependencies,
    sieve: Sieve,
    plain_tools: PlainTools,
    authenticate: CallerAuthenticator,
    names: ResourceNames,
) -> StreamWatches:
    generations, settings = dependencies.generations, dependencies.settings
    hub = StreamHub(
        authenticate.is_current,
        max_streams=settings.streams,
        max_per_tenant=settings.streams_per_tenant or -(-settings.streams * 3 // 4),
        max_per_credential=settings.streams_per_credential,
        verify_again=authenticate.renew,
        touch=generations.current,
    )
    resources = ResourceWatch(hub, names.get)
    generations.add_change_listener(hub.wake_tenant)
    generations.add_recovery_listener(resources.hear_again)
    generations.add_listener(RESOURCE_CHANNEL, resources.hear_change)
    generations.add_listener(SUBSCRIPTION_CHANNEL, resources.hear_subscription)
    dependencies.metrics.register_observable("mcpist_streams", lambda: len(hub))
    return StreamWatches(hub, ListWatch(sieve, plain_tools), resources, sieve)


def _create_cancellations(dependencies: _GatewayDependencies, calls: CallSupervisor) -> Cancellations:
    generations = dependencies.generations
    cancellations = Cancellations(
        calls, dependencies.deployment.digest_key, lambda text: generations.announce(CANCEL_CHANNEL, text)
    )
    generations.add_listener(CANCEL_CHANNEL, cancellations.handle_announcement)
    return cancellations


def _build_refusals(dependencies: _GatewayDependencies, metrics: Metrics) -> AuthFailureLog:
    metrics.begin_at_zero("auth_refused", RefusalReason)
    metrics.begin_at_zero("limited", ("address",))
    attempts = dependencies.worker.create_failed_auth_limits(dependencies.settings.failed_auth_per_minute)
    return AuthFailureLog(dependencies.audit, attempts, metrics, dependencies.passes)


def _build_mcp_settings(settings: Settings) -> McpSettings:
    return McpSettings(
        public_url=settings.public_url,
        trusted_proxies=settings.trusted_proxies,
        allowed_origins=settings.allowed_origins,
        call_timeout=settings.call_timeout,
        resource_metadata=build_metadata_url(settings.public_url),
    )


def _get_authorization_server(settings: Settings) -> str:
    """Return the issuer where clients of /mcp get their tokens: this server, unless another is configured."""
    if settings.authorization_server:
        return settings.authorization_server
    external = load_identity_settings(settings).external
    return external.issuer if external else settings.public_url


@contextlib.asynccontextmanager
async def _open_caller_limits(settings: Settings, worker: Worker) -> AsyncGenerator[CallerLimits]:
    """Open the limits of users: shared by all processes where a Valkey is configured, else by those of this host."""
    chosen = settings.rate_per_second, settings.rate_burst, settings.concurrency
    if settings.redis_url is None:
        yield worker.create_caller_limits("calls", *chosen)
        return
    from server.valkey_limits import open_limit_store  # what few deployments use is loaded there alone

    limits = ReplicatedCallerLimits(*chosen, clock=time.monotonic)
    async with open_limit_store(settings) as store, run_in_background("shared limits", limits.run(store)):
        yield limits


def _create_turns(settings: Settings, metrics: Metrics) -> FairQueue:
    turns = FairQueue(settings.calls_at_once)
    metrics.register_observable("mcpist_calls_waiting", turns.count_waiting)
    metrics.register_observable("mcpist_tenants_active", lambda: len(turns))
    return turns


def _build_admission(limits: CallerLimits) -> Callable[[Caller], Release]:
    return lambda caller: limits.enter(caller.limits_key)


def _count_limited_callers(metrics: Metrics) -> Callable[[], None]:
    metrics.begin_at_zero("limited", ("caller",))
    return lambda: metrics.count_limited("caller")


def _build_health_checks(dependencies: _GatewayDependencies) -> dict[str, Check]:
    async def are_generations_current() -> bool:
        return dependencies.generations.trusted

    checks: dict[str, Check] = {
        "database": dependencies.database.ping,
        "generations": are_generations_current,
        "audit": create_audit_check(dependencies.audit),
        "background tasks": check_background_tasks,
        "jobs": create_jobs_check(dependencies.database),
    }
    if isinstance(limits := dependencies.limits, ReplicatedCallerLimits):

        async def are_limits_shared() -> bool | str:
            return limits.is_shared or f"{DEGRADED}: counted by each process"

        checks["limits"] = are_limits_shared
    broker = dependencies.broker
    if isinstance(broker, RemoteBroker):

        async def is_broker_answering() -> bool | str:
            problem = await broker.find_problem()
            if problem is None:
                return True
            # Known credentials go on during an outage; a refusal lasts, and a load balancer should know.
            return f"refused: {problem.cause}" if problem.is_refusal else f"{DEGRADED}: {problem.cause}"

        checks["broker"] = is_broker_answering
    settings = dependencies.settings
    if settings.database_url is None or not isinstance(broker, RemoteBroker):
        checks["disk"] = create_disk_check(settings.home, has_database=settings.database_url is None)
    return checks


def _register_gauges(metrics: Metrics, dependencies: _GatewayDependencies, authenticate: CallerAuthenticator) -> None:
    register_audit_metrics(metrics, dependencies.audit)
    metrics.register_observable("mcpist_credentials_cached", lambda: len(authenticate))
    metrics.register_labelled("mcpist_database_connections", dependencies.database.count_connections)
    metrics.register_observable("mcpist_generation_listener_up", lambda: dependencies.generations.listening)
    metrics.register_observable("mcpist_limited_callers", lambda: len(dependencies.limits))
    if isinstance(limits := dependencies.limits, ReplicatedCallerLimits):
        metrics.register_observable("mcpist_limits_shared", lambda: limits.is_shared)
    metrics.register_observable("mcpist_log_lines_dropped", lambda: dependencies.call_log.dropped)


@contextlib.asynccontextmanager
async def _run_background_tasks() -> AsyncGenerator[Callable[[Coroutine[Any, Any, None]], None]]:
    """Background tasks that live as long as the block. One that fails is a fault of ours: it ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[None]] = []
        yield lambda coroutine: tasks.append(group.create_task(coroutine))
        for task in tasks:
            task.cancel()
