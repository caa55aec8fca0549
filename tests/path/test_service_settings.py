"""Settings of a module without a vendor: set by the API with errors by field, and true for one tenant's tools within a
second."""

import pytest

from core.directory.services import set_settings
from core.errors import InvalidFields
from gateway.service_settings import apply_changes
from modules.kit import Module
from modules.knowledge_graph import MODULE as GRAPH
from tests.path.conftest import People
from tests.support.eventually import within
from tests.support.mcp_client import Answer
from tests.support.product import ACTOR, Node, Product


async def remember(node: Node, token: str, *names: str) -> Answer:
    entities = [{"name": name, "entityType": "thing", "observations": []} for name in names]
    return await node.call(token, "knowledge_graph", "create_entities", {"entities": entities})


async def change(product: Product, people: People, module: Module = GRAPH, **changes: object) -> None:
    await set_settings(
        product.console, ACTOR, people.acme.id, module.name, lambda stored: apply_changes(module, stored, changes)
    )


async def test_a_tenant_s_limit_holds_within_a_second_and_for_that_tenant(
    product: Product, node: Node, people: People
) -> None:
    assert not (await remember(node, people.admin.token, "a")).failed
    await change(product, people, max_entities=1)

    async def refused() -> bool:
        return (await remember(node, people.admin.token, "b")).failed

    async def taken() -> bool:
        return not await refused()

    await within(1.0, refused)
    assert "the limit is 1" in (await remember(node, people.admin.token, "c", "d")).text
    assert not (await remember(node, people.other_admin.token, "a", "b", "c")).failed
    await change(product, people, max_entities=None)
    await within(1.0, taken)


async def test_what_no_longer_fits_the_module_is_said_and_nothing_else_breaks(
    product: Product, node: Node, people: People
) -> None:
    await set_settings(product.console, ACTOR, people.acme.id, "knowledge_graph", lambda _: {"of_another_release": 1})

    async def told() -> bool:
        return "has invalid service settings" in (await remember(node, people.admin.token, "a")).text

    await within(1.0, told)
    assert not (await node.call(people.admin.token, "knowledge_graph", "read_graph")).failed
    assert not (await remember(node, people.other_admin.token, "a")).failed


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"max_entities": 0}, {"max_entities": "greater than or equal to 1"}),
        ({"max_entities": "many", "max_relations": 10**9}, {"max_entities": "integer", "max_relations": "200000"}),
        ({"max_entitys": 5}, {"max_entitys": "did you mean max_entities?"}),
        ({"base_url": None}, {"base_url": "there is no setting"}),
        ({"max_entities": [1]}, {"max_entities": "integer"}),
    ],
)
def test_errors_are_by_field_and_never_show_the_value(changes: dict[str, object], told: dict[str, str]) -> None:
    with pytest.raises(InvalidFields) as refused:
        apply_changes(GRAPH, {}, changes)
    assert refused.value.problems.keys() == told.keys()
    for name, part in told.items():
        assert part in refused.value.problems[name]
        assert f"{name}: " in str(refused.value)
    assert "many" not in str(refused.value)
