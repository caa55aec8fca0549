"""A broker as a process of its own: a gateway's key makes a mandate, and a worker's key alone acts by it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from broker.interface import (
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandatePurpose,
    MandateRequest,
    RefusalReason,
)
from broker.rpc.gateway_keys import load_private_key
from broker.rpc.rpc_client import open_http_broker, open_worker_broker
from broker.rpc.service_token import ServiceTokenSigner
from core.caller import Credential
from core.errors import Unavailable
from core.secret import Secret
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR
from tests.support.split import split_on

pytestmark = pytest.mark.timeout(180)
SECRET = "the-vendor-token-of-who-is-away"


@pytest.mark.guarantee("G10")
async def test_a_worker_acts_for_who_is_away_and_a_gateway_does_not(database: ScratchDatabase, tmp_path: Path) -> None:
    async with split_on(database, tmp_path, gateways=1) as deployment:
        tenant = await deployment.product.tenant("acme", services=["shop"])
        ada = await deployment.product.person(tenant, "ada@acme.test", allow=["*"])
        await deployment.add(ada, SECRET)
        url = f"http://127.0.0.1:{deployment.broker.port}"
        own = ServiceTokenSigner(load_private_key(deployment.gateways[0].home / "own.pem"))
        workers = ServiceTokenSigner(load_private_key(tmp_path / "worker.pem"))
        async with open_http_broker(url, own) as gateway, open_worker_broker(url, workers) as worker:
            until, tools = datetime.now(UTC) + timedelta(hours=1), (("shop", "look"),)
            wanted = MandateRequest(Secret(ada.token), MandatePurpose.JOB, uuid4(), "Look", tools, until)
            made = await gateway.create_mandate(wanted)
            assert isinstance(made, Mandate)
            request = LeaseRequest(made.reference, "shop", "look")
            for asked in (gateway.lease(request), gateway.verify_mandate(made.reference)):
                with pytest.raises(Unavailable):
                    await asked
            who, lease = await worker.verify_mandate(made.reference), await worker.lease(request)
            assert isinstance(who, Credential)
            assert who.audit_pass, "a worker records what it does in the tenant's log"
            assert isinstance(lease, Lease)
            assert lease.access_token == Secret(SECRET)
            await deployment.product.tokens.revoke(ACTOR, tenant.id, ada.token_id)
            refused = await worker.lease(request)
            assert isinstance(refused, CredentialRefusal)
            assert refused.reason is RefusalReason.REVOKED
