"""Keys of the tenant in a gateway: asked for in the caller's name each time, and sent where they may be sent."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from broker.interface import CredentialRefusal, MandateReference, NoTenantKey, RefusalReason, TenantKeyLease
from core.errors import Unavailable
from core.secret import Secret
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext, Subject
from gateway.tenant_keys import TenantKeys
from tests.gateway.test_leases import CALLER

KEY = Secret("pa-the-tenant-s")
LEASE = TenantKeyLease(KEY, 60.0, ("https://api.voyage.test",))
URLS = {"voyage": "https://api.voyage.test/v1", "openai": "https://elsewhere.test/v1"}


@dataclass
class ScriptedKeys:
    """A broker that answers what a test says."""

    answer: Any = LEASE
    asked: list[Any] = field(default_factory=list)

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        self.asked.append((subject, kind))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def request_of(subject: Subject | None) -> RequestContext:
    return RequestContext(Authority(CALLER), "r-1", 1e9, find_subject=lambda: subject)


async def test_the_key_is_asked_for_each_time_in_the_caller_s_name() -> None:
    broker, request = ScriptedKeys(), request_of(Secret("mcpist_ada"))
    keys = TenantKeys(broker, URLS)
    assert [await keys.get(request, "voyage"), await keys.get(request, "voyage")] == [KEY, KEY]
    broker.answer = NoTenantKey("missing")
    assert await keys.get(request, "voyage") is None
    assert broker.asked == [(Secret("mcpist_ada"), "voyage")] * 3


@pytest.mark.parametrize(
    "answer", [NoTenantKey("missing"), NoTenantKey("unreadable"), CredentialRefusal(RefusalReason.REVOKED)]
)
async def test_no_key_is_none(answer: object) -> None:
    assert await TenantKeys(ScriptedKeys(answer), URLS).get(request_of(Secret("mcpist_ada")), "voyage") is None


async def test_a_broker_that_is_away_is_told() -> None:
    with pytest.raises(Unavailable):
        await TenantKeys(ScriptedKeys(Unavailable("away")), URLS).get(request_of(Secret("mcpist_ada")), "voyage")


async def test_a_key_goes_nowhere_but_to_its_vendor() -> None:
    broker = ScriptedKeys()
    assert await TenantKeys(broker, URLS).get(request_of(Secret("mcpist_ada")), "openai") is None
    for wrong in ("http://api.voyage.test/v1", "https://api.voyage.test:444", "https://voyage.test", "nonsense"):
        assert await TenantKeys(broker, {"voyage": wrong}).get(request_of(Secret("mcpist_ada")), "voyage") is None


async def test_nobody_is_asked_for_what_is_not_sent_anywhere_or_without_a_caller() -> None:
    broker = ScriptedKeys()
    assert await TenantKeys(broker, URLS).get(request_of(Secret("mcpist_ada")), "the embedding service") is None
    assert await TenantKeys(broker, URLS).get(request_of(None), "voyage") is None
    assert broker.asked == []
