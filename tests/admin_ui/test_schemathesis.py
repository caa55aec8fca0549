"""schemathesis over the whole API with the credentials of two tenants: no 5xx, answers as documented, no foreign id."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.admin_ui.admin_app import COOKIE, OPERATORS, URL, AdminApp, Tenant
from tests.admin_ui.test_route_walk import ids_of, made_up
from tests.support.http_server import served

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
Wanted = Mapping[str, str]


def headers_of(tenant: Tenant) -> list[Mapping[str, str]]:
    """A session of the administrator, one of a user, and an administrator's token."""
    return [
        {"Cookie": f"{COOKIE}={tenant.admin.session.reveal()}", "Origin": URL},
        {"Cookie": f"{COOKIE}={tenant.user.session.reveal()}", "Origin": URL},
        {"Authorization": f"Bearer {tenant.admin.token.reveal()}"},
    ]


def marks_of(tenant: Tenant) -> list[str]:
    """What only this tenant's own people may ever read."""
    people = [mark for one in (tenant.admin, tenant.user) for mark in (str(one.id), one.email, str(one.session_id))]
    return [str(tenant.id), str(tenant.role_id), tenant.client_id, f"Name of {tenant.slug}", *people]


def explored(document: Any, url: str, tenants: tuple[Tenant, Tenant], ids: list[Wanted], examples: int) -> int:
    """Ask every operation `examples` times; how many answers there were."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    asked = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # pyright: ignore[reportAttributeAccessIssue]
        asked += _of_operation(operation, tenants, ids, examples)
    return asked


def _of_operation(operation: Any, tenants: tuple[Tenant, Tenant], ids: list[Wanted], examples: int) -> int:
    asked = 0

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(data=st.data(), mode=st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
    def explore(data: Any, mode: GenerationMode) -> None:
        nonlocal asked
        case = data.draw(operation.as_strategy(generation_mode=mode))
        known = data.draw(st.sampled_from([None, *ids]))
        if known is not None and case.path_parameters:
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        which = data.draw(st.integers(0, 2))
        for own, other in (tenants, tenants[::-1]):
            response = case.call(headers=headers_of(own)[which])
            if response.status_code == 431:
                continue  # the server's own answer to a head of over 32 KiB, which reaches no route
            case.validate_response(response, checks=CHECKS)
            asked += 1
            sent = f"{case.path_parameters} {case.body} {case.query}"
            foreign = [] if own is other else marks_of(other)
            leaked = [mark for mark in foreign if mark in response.text and mark not in sent]
            assert not leaked, f"{operation.method} {operation.path}: {leaked}"

    explore()
    return asked


async def run(app: AdminApp, examples: int) -> int:
    acme, globex, operators = await app.tenant("acme"), await app.tenant("globex"), await app.tenant(OPERATORS)
    victims = [await app.person(one.id, f"victim@{one.slug}.example", "user") for one in (acme, globex)]
    ids: list[Wanted] = [ids_of(acme, victims[0]), ids_of(globex, victims[1]), made_up()]
    async with served(app.app()) as (_, port):
        url = f"http://127.0.0.1:{port}"
        asked = await asyncio.to_thread(explored, app.openapi(), url, (acme, globex), ids, examples)
        return asked + await asyncio.to_thread(
            explored, _of_tenants(app.openapi()), url, (operators, operators), ids[2:], examples
        )


def _of_tenants(document: dict[str, Any]) -> dict[str, Any]:
    """The part of the document that is for the operator."""
    own = ("/api/v1/tenants", "/api/v1/deployment", "/api/v1/keys")
    paths = {path: there for path, there in document["paths"].items() if path.startswith(own)}
    return document | {"paths": paths}


@pytest.mark.guarantee("G9")
@pytest.mark.no_canary("what it has made up for a secret it sends as anything else, too")
async def test_a_few_examples_of_every_operation(app: AdminApp) -> None:
    assert await run(app, 2) > 100


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.no_canary("what it has made up for a secret it sends as anything else, too")
async def test_many_examples_of_every_operation(app: AdminApp) -> None:
    assert await run(app, 45) > 2500
