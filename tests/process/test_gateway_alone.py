"""What a gateway that was taken over has by itself is its key: it opens no door of a running broker (G10)."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import aiohttp
import pytest
from starlette.routing import BaseRoute, Mount, Route

from broker.interface import LeaseRequest, MandatePurpose, MandateReference, MandateRequest
from broker.rpc.codec import (
    CREATE_MANDATE,
    END_MANDATE,
    EXCHANGE,
    PATHS,
    STATUS,
    TENANT_KEY,
    VERIFY,
    VERIFY_AGAIN,
    WORKER_EXCHANGE,
    WORKER_TENANT_KEY,
    WORKER_VERIFY,
    decode_credentials,
    encode_lease_request,
    encode_subject_request,
    encode_subjects_request,
)
from broker.rpc.gateway_keys import load_private_key
from broker.rpc.mandate_messages import encode_mandate_request, encode_reference, encode_worker_lease_request
from broker.rpc.service_token import ServiceTokenSigner
from broker.rpc.tenant_key_messages import encode_tenant_key_request, encode_worker_tenant_key_request
from core.secret import Secret
from tests.support.identity import identity_on
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.product import Person, product_on
from tests.support.split import Split, split_on

pytestmark = [pytest.mark.timeout(180), pytest.mark.no_canary("presents ids and addresses as if they were tokens")]

SECRET = "the-vendor-token-of-an-absent-person"
QUESTIONS = {
    VERIFY: lambda guess: encode_subject_request(guess),
    STATUS: lambda guess: encode_subject_request(guess),
    EXCHANGE: lambda guess: encode_lease_request(guess, LeaseRequest(guess, "shop", "look")),
    TENANT_KEY: lambda guess: encode_tenant_key_request(guess, "voyage"),
    CREATE_MANDATE: lambda guess: encode_mandate_request(
        MandateRequest(
            guess, MandatePurpose.JOB, UUID(int=3), "", (("shop", "look"),), datetime(2099, 1, 1, tzinfo=UTC)
        )
    ),
}
REFERENCE = MandateReference(UUID(int=4), UUID(int=3))
OF_WORKERS = {
    WORKER_VERIFY: encode_reference(REFERENCE),
    WORKER_EXCHANGE: encode_worker_lease_request(REFERENCE, LeaseRequest(REFERENCE, "shop", "look")),
    WORKER_TENANT_KEY: encode_worker_tenant_key_request(REFERENCE, "voyage"),
}


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, gateways=1) as made:
        yield made


@pytest.fixture
async def doors(database_server: DatabaseServer, tmp_path: Path) -> list[tuple[str, str]]:
    """Every route besides those for gateways, from the table of a whole product."""
    async with (
        database_server.database() as scratch,
        product_on(scratch, tmp_path / "another") as product,
        identity_on(product, providers=False) as identity,
    ):
        return sorted(set(walked(identity.gateway.app.otherwise._router.routes)))


def walked(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Mount):
            yield from walked(route.routes or [], prefix + route.path)
        elif isinstance(route, Route):
            path = prefix + route.path
            for name in route.param_convertors:
                path = path.replace(f"{{{name}}}", str(UUID(int=1)))
            yield from ((method, path) for method in route.methods or ())


@pytest.mark.guarantee("G10")
async def test_a_gateway_s_own_key_opens_no_door_of_the_broker(deployment: Split, doors: list[tuple[str, str]]) -> None:
    tenant = await deployment.product.tenant("acme", services=["shop"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["*"])
    await deployment.add(ada, SECRET)
    assert await deployment.said(ada, "look", at=0) == "ada@acme.test: tea"
    gateway = deployment.gateways[0]
    key = ServiceTokenSigner(load_private_key(gateway.home / "own.pem"))
    assert {*QUESTIONS, VERIFY_AGAIN, END_MANDATE} == set(PATHS), (
        "whoever adds a question for gateways asks it here, too"
    )
    for path, question in QUESTIONS.items():
        for guess in guesses(ada, key):
            body = question(Secret(guess))
            status, said = await asked(deployment, "POST", path, body, key.sign("POST", path, body))
            assert (status, b'"refused":{"reason":"unknown"' in said) == (200, True), (path, guess, said)
    guessed = [Secret(guess) for guess in guesses(ada, key)]
    body = encode_subjects_request(ada.tenant.id, guessed)
    status, said = await asked(deployment, "POST", VERIFY_AGAIN, body, key.sign("POST", VERIFY_AGAIN, body))
    assert (status, [*decode_credentials(said, len(guessed))]) == (200, [None] * len(guessed))
    for path, body in OF_WORKERS.items():
        status, said = await asked(deployment, "POST", path, body, key.sign("POST", path, body))
        assert (status, said) == (401, b'{"error":"unauthorized"}'), path
    assert len(doors) > 30
    for method, path in doors:
        told = [
            await asked(deployment, method, path, b"", token) for token in (key.sign(method, path, b""), "nonsense")
        ]
        assert told[0][0] == told[1][0], (method, path, told)
        assert SECRET.encode() not in told[0][1]
        assert b"ada@acme.test" not in told[0][1]


def guesses(who: Person, key: ServiceTokenSigner) -> list[str]:
    """What a gateway has seen of somebody who is not calling now, but for the token itself."""
    return ["", who.token_id, str(who.id), who.email, str(who.tenant.id), who.token[:-1], key.gateway]


async def asked(deployment: Split, method: str, path: str, body: bytes, token: str) -> tuple[int, bytes]:
    url = f"http://127.0.0.1:{deployment.broker.port}{path}"
    headers = {"Authorization": f"Bearer {token}", "Host": deployment.public_url.removeprefix("http://")}
    options = {"data": body, "headers": headers, "allow_redirects": False}
    async with aiohttp.ClientSession() as http, http.request(method, url, **options) as answer:
        return answer.status, await answer.read()


async def test_an_unknown_path_of_a_gateway_alone_is_json_too(deployment: Split) -> None:
    url = f"http://127.0.0.1:{deployment.gateways[0].port}/register"
    async with aiohttp.ClientSession() as http, http.post(url, json={}) as answer:
        assert (answer.status, (await answer.json())["error"]) == (404, "not_found")
