"""The connections that one user's calls use, for surfaces outside the trust zone."""

from collections.abc import Mapping
from uuid import UUID

from broker.connections.available_services import AvailableServices
from broker.connections.connection_health import ConnectionHealth
from broker.connections.connection_status import HealthState, get_catalogue_word, get_connection_state
from broker.connections.stored_credentials import StoredCredential, UnconnectedModule
from core.connection_causes import find_cause
from core.connection_state import ConnectionState, UserConnection
from core.db import Database
from core.policy_loader import load_user_roles


class UserConnections:
    """Implements :class:`core.connection_state.UserConnectionReader`; `database` is in the broker's role."""

    def __init__(
        self, database: Database, health: ConnectionHealth, services: AvailableServices, public_url: str
    ) -> None:
        self._database = database
        self._health = health
        self._services = services
        self._public_url = public_url

    async def __call__(self, tenant_id: UUID, user_id: UUID) -> Mapping[str, UserConnection]:
        """Return the connections by module; of several credentials the one that a call uses."""
        async with self._database.tenant(tenant_id) as work:
            statuses = await self._health.list_for_user(work, user_id)
            order = {role_id: place for place, (role_id, _) in enumerate(await load_user_roles(work, user_id), 1)}
            connectable = await self._services.find_connectable(work, user_id)
        used: dict[str, StoredCredential | UnconnectedModule] = {}
        for status in sorted(statuses, key=lambda status: _get_place(status, order)):
            used.setdefault(status.module, status)
        return {module: self._describe(status, module in connectable) for module, status in used.items()}

    def _describe(self, status: StoredCredential | UnconnectedModule, connectable: bool) -> UserConnection:
        action_url = self._public_url + status.link
        if isinstance(status, UnconnectedModule):
            return UserConnection(
                ConnectionState.NEEDS_CONNECT,
                health=HealthState.NEEDS_CONNECT,
                responsible="owner" if connectable else "administrator",
                action_url=action_url,
                connectable=connectable,
            )
        return UserConnection(
            state=get_connection_state(status.state),
            kind=status.kind,
            owner=status.owner,
            account=status.account,
            health=status.state,
            cause=status.cause,
            message=_describe_cause(status),
            responsible=status.responsible,
            action_url=action_url,
            token_expires_at=status.token_expires_at,
            renews=status.renews,
            next_retry_at=status.next_retry_at,
            connectable=connectable,
        )


def _get_place(status: StoredCredential | UnconnectedModule, order: Mapping[UUID, int]) -> int:
    """The place of a credential among those of its module: one's own, then in the order of the roles."""
    if isinstance(status, UnconnectedModule) or status.role_id is None:
        return 0
    return order.get(status.role_id, len(order) + 1)


def _describe_cause(status: StoredCredential) -> tuple[str, str]:
    if not status.cause:
        return "", ""
    cause = find_cause(get_catalogue_word(status.cause, status.state))
    return cause.en, cause.ja
