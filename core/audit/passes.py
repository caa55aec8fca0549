"""Passes that let a gateway append to a tenant's audit log: signed by the broker, checked by the database."""

from collections import OrderedDict
from uuid import UUID

MAX_PASSES = 200_000


class AuditPasses:
    """The newest pass of each tenant that a gateway has served."""

    def __init__(self) -> None:
        self._passes: OrderedDict[UUID, str] = OrderedDict()

    def store(self, tenant_id: UUID | None, audit_pass: str) -> None:
        """Take in what came with an answer of the broker's."""
        if tenant_id is None or not audit_pass:
            return
        self._passes[tenant_id] = audit_pass
        self._passes.move_to_end(tenant_id)
        if len(self._passes) > MAX_PASSES:
            self._passes.popitem(last=False)

    def get(self, tenant_id: UUID) -> str:
        """Return the pass for a tenant's log, empty where there is none."""
        return self._passes.get(tenant_id, "")
