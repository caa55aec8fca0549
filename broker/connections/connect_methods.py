"""The ways to connect a module, and what a vendor is asked for on each: the page shows no less and no more."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from broker.connections.oauth_client_store import SealedOAuthClient
from broker.connections.stored_credentials import StoredCredential
from broker.oauth_client.error_classifier import ERROR_CODES
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.oauth_client.vendor_scopes import collect_scopes_to_request, expand_scopes
from broker.providers import error_reasons
from broker.providers.schema import Provider
from broker.vault.origin_policy import ORIGIN_CHANGED
from core.audit.event import AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.module_manifest import ModuleManifest
from core.permissions import Role


@dataclass(frozen=True, slots=True)
class RequiredTools:
    """The tools of one module that somebody may use, by what they do."""

    module: ModuleManifest
    read_tools: tuple[str, ...]
    write_tools: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.read_tools or self.write_tools)


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """The scopes to ask for, and of which tools each of the two kinds consists. `offers_writing` says that there is
    something to be had by asking for more."""

    scopes: tuple[str, ...]
    can_request_write: bool


def find_required_tools(module: ModuleManifest, roles: Sequence[Role]) -> RequiredTools:
    """Find the module's tools that these roles, taken together, permit."""
    permitted = [
        (name, tool.read_only)
        for name, tool in module.tools.items()
        if any(role.permits(module.name, name, tool.read_only) for role in roles)
    ]
    reading = tuple(tool for tool, reads in permitted if reads)
    return RequiredTools(module, reading, tuple(tool for tool, reads in permitted if not reads))


def build_scope_request(
    provider: Provider, needs: Iterable[RequiredTools], *, writing: Collection[str]
) -> ScopeRequest:
    """The scopes for these needs: those of reading first, those of writing for the modules in `writing`, or where there
    is nothing else to ask for. None where the vendor's app has fixed scopes."""
    oauth = provider.oauth
    assert oauth is not None, "only OAuth has scopes"
    scopes: list[str] = []
    more = False
    for required_tools in needs:
        families = provider.modules[required_tools.module.name]
        if required_tools.read_tools:
            scopes += families.reading
        if required_tools.write_tools and (required_tools.module.name in writing or not required_tools.read_tools):
            scopes += families.writing
        elif required_tools.write_tools and not set(families.writing) <= {*families.reading, *oauth.base_scopes}:
            more = True
    return ScopeRequest(collect_scopes_to_request(oauth, scopes), more and not oauth.fixed_scopes)


@dataclass(frozen=True, slots=True)
class ConnectMethod:
    """One way to connect a module. `client` is ours at the provider; of kind oauth, None where we become one when
    somebody begins, and a key can do without. `joined` are its other modules that use the same account already, and so
    whatever takes its place; `also` are those that the same grant can be for, `taken` those of them that are connected
    in another way. `before` are the scopes that were granted so far."""

    kind: Literal["oauth", "key"]
    provider: Provider | None
    client: SealedOAuthClient | None = None
    scope_request: ScopeRequest | None = None
    joined_tools: tuple[RequiredTools, ...] = ()
    optional_tools: tuple[RequiredTools, ...] = ()
    connected_modules: frozenset[str] = frozenset()
    granted_scopes: tuple[str, ...] = ()

    def accepts_key_of(self, provider: str) -> bool:
        """Check whether a key of this provider can be used with this method; "" is any provider's."""
        return self.kind == "key" and (not provider or (self.provider is not None and self.provider.id == provider))


def list_connect_methods(
    module: str,
    needs: Mapping[str, RequiredTools],
    providers: Sequence[Provider],
    clients: Mapping[str, SealedOAuthClient | None],
    own: Mapping[str, StoredCredential],
    missing: Collection[str],
    *,
    keys: bool,
) -> list[ConnectMethod]:
    """Every way to connect a module that somebody needs; `own` is what they have, by module, `missing` are providers
    that nobody has registered us at. `keys`: the service is where a key can be used."""
    methods: list[ConnectMethod] = []
    for provider in providers:
        if provider.oauth is not None and provider.id not in missing:
            methods.append(_build_oauth_method(module, needs, provider, clients.get(provider.id), own))
        if provider.key is not None and keys:
            methods.append(ConnectMethod("key", provider, clients.get(provider.id)))
    return methods if providers or not keys else [ConnectMethod("key", None)]


def _build_oauth_method(
    module: str,
    needs: Mapping[str, RequiredTools],
    provider: Provider,
    client: SealedOAuthClient | None,
    own: Mapping[str, StoredCredential],
) -> ConnectMethod:
    own_credential = own.get(module)
    account = (
        own_credential.account_id if own_credential is not None and own_credential.provider == provider.id else None
    )
    others = [
        needs[required_tools]
        for required_tools in provider.modules
        if required_tools in needs and required_tools != module
    ]
    before = own_credential.scopes if own_credential is not None and account is not None else ()
    writing = {module} if has_write_scopes(provider, needs[module], before) else set[str]()

    def shares_account(required_tools: RequiredTools) -> bool:
        other_credential = own.get(required_tools.module.name)
        return (
            account is not None
            and other_credential is not None
            and other_credential.account_id == account
            and other_credential.cause != ORIGIN_CHANGED
        )

    return ConnectMethod(
        kind="oauth",
        provider=provider,
        client=client,
        scope_request=build_scope_request(provider, (needs[module],), writing=writing),
        joined_tools=tuple(required_tools for required_tools in others if shares_account(required_tools)),
        optional_tools=tuple(required_tools for required_tools in others if not shares_account(required_tools)),
        connected_modules=frozenset(
            required_tools.module.name for required_tools in others if required_tools.module.name in own
        ),
        granted_scopes=before,
    )


def build_method_scope_request(
    way: ConnectMethod, needs: RequiredTools, also: Iterable[RequiredTools] = (), *, writing: bool
) -> ScopeRequest:
    """Build the scope request of this method, for a module and others that share its grant: exactly what the
    page shows. `writing` asks for the module's tools that change something; where they were granted before, or those of
    another module were, that is asked for again."""
    assert way.provider is not None, "only OAuth has scopes"
    provider, every = way.provider, (needs, *way.joined_tools, *also)
    more = {
        required_tools.module.name
        for required_tools in every
        if has_write_scopes(provider, required_tools, way.granted_scopes)
    }
    return build_scope_request(provider, every, writing=more | ({needs.module.name} if writing else set[str]()))


def has_write_scopes(provider: Provider, needs: RequiredTools, granted: Sequence[str]) -> bool:
    """Check whether scopes of the module's writing tools were granted before; they are then requested again."""
    families = provider.modules[needs.module.name]
    more = set(families.writing) - set(families.reading)
    return bool(more) and provider.oauth is not None and more <= expand_scopes(provider.oauth, granted)


class ConnectPrincipal(Protocol):
    """Whoever it is for. `system_role` is that of this moment."""

    @property
    def tenant_id(self) -> UUID: ...

    @property
    def user_id(self) -> UUID: ...

    @property
    def system_role(self) -> str: ...

    @property
    def actor(self) -> Actor: ...


ACCESS_DENIED = "access_denied"
"""The one error at the callback that is the person's own decision (RFC 6749 §4.1.2.1)."""

_OURS = frozenset({ErrorClass.SERVICE})


class ConnectError(Exception):
    """Nothing was connected. `key` names the text for the person, `cause` is a word for the audit log; neither holds
    anything that a vendor or a browser has said. `module` is where the person can start again, and `role_id` whom it
    was to be shared with."""

    def __init__(self, key: str, cause: str = "", *, title: str = "", module: str = "") -> None:
        super().__init__(key)
        self.key = key
        self.cause = cause or key
        self.title = title
        self.module = module
        self.role_id: UUID | None = None


async def audit_refusal(
    database: Database, person: ConnectPrincipal, refused: ConnectError, provider: str
) -> ConnectError:
    """The refusal, written to the audit log: these are what an attack looks like."""
    async with database.tenant(person.tenant_id) as work:
        detail = {"provider": provider[:40], "cause": refused.cause}
        await audit_change(work, person.actor, AuditEventKind.CONNECT_REFUSED, **detail)
    return refused


def get_message_key(failed: VendorFailure) -> str:
    """The text for what a token endpoint has answered."""
    if failed.error_class in _OURS:
        return "connect_setup"
    if failed.error_class is ErrorClass.PERMANENT:
        return "connect_code"
    return "connect_away"


def classify_callback_error(error: str) -> tuple[str, str]:
    """The text for an error that the browser has brought back, and our word for it. Whoever has a browser can bring
    one, so nothing is concluded from it about the client."""
    cls, reason = ERROR_CODES.get(error, (ErrorClass.SERVICE, error_reasons.REFUSED))
    if cls in _OURS:
        return "connect_refused", reason
    return ("connect_code" if cls is ErrorClass.PERMANENT else "connect_away"), reason
