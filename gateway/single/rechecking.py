"""How a broker process asks about refused credentials: the only place that knows both them and the modules' vendors."""

from collections.abc import Mapping
from typing import Any

from broker.rejections.recheck import Parts, Rechecker
from broker.rejections.suspects import Suspect
from broker.rejections.timing import RejectionTiming
from broker.rejections.verdicts import Asked, Verdict
from broker.vault.vault import Vault
from core.db import Database
from core.errors import MCPistError
from gateway.catalogue import Catalogue
from gateway.service_settings import parsed
from gateway.single.trust_zone import vendor_urls
from gateway.single.vendor_account import GivenCredential, account_of
from gateway.vendor_session.session import VendorSessions
from modules.kit import ToolError, VendorProblem
from modules.kit.vendor import Problem

MOST_SECONDS = 20.0
VERDICTS: Mapping[Problem, Verdict] = {
    "unauthorized": Verdict.REJECTED,
    "rate_limited": Verdict.BUSY,
    "unavailable": Verdict.UNKNOWN,
    "too_large": Verdict.UNKNOWN,
    "refused": Verdict.UNKNOWN,
}
"""What a problem says of the credential; any other is told to somebody who is known."""


def rechecker(
    database: Database,
    vault: Vault,
    catalogue: Catalogue,
    sessions: VendorSessions,
    timing: RejectionTiming | None = None,
) -> Rechecker:
    """Asks about the credentials of all tenants; `database` is in the broker's role."""
    ask = VendorAsker(catalogue, sessions)
    return Rechecker(Parts(database, vault, ask, vendor_urls(catalogue), timing or RejectionTiming()))


class VendorAsker:
    """Implements :class:`broker.rejections.recheck.Asker` by the request that the module names."""

    def __init__(self, catalogue: Catalogue, sessions: VendorSessions) -> None:
        self._modules = {module.name: module for module in catalogue.modules}
        self._sessions = sessions

    async def __call__(self, suspect: Suspect, settings: Mapping[str, Any]) -> Asked:
        module = self._modules.get(suspect.module)
        api = module.vendor if module else None
        if api is None:
            return Asked(Verdict.UNKNOWN)
        credential = GivenCredential(suspect.secret, suspect.scheme, suspect.origins)
        key = f"{suspect.id}/{suspect.version}"
        try:
            known = parsed(api.settings, settings)
            known = known.model_copy(update={"timeout": min(known.timeout, MOST_SECONDS)})
            await account_of(self._sessions, api, known, credential, key, suspect.attributes)
        except VendorProblem as problem:
            return Asked(VERDICTS.get(problem.kind, Verdict.ACCEPTED), problem.retry_after or 0.0)
        except (ToolError, MCPistError):
            return Asked(Verdict.UNKNOWN)
        return Asked(Verdict.ACCEPTED)
