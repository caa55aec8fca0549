"""What the suite's canary hears of a product, without a test's help."""

import logging

import pytest

from tests.path.conftest import People
from tests.support.canary import SUITE
from tests.support.product import Node, Product


@pytest.mark.guarantee("G6")
async def test_everything_is_listened_to(product: Product, node: Node, people: People) -> None:
    await node.call(people.admin.token, "lab", "look")
    await node.post("malformed", "ping")
    logging.getLogger("any.library").debug("a line")
    await product.database.hear()
    heard = {where for where, _ in SUITE.said}
    assert {"answer", "audit.incoming", "auth.api_tokens", "core.users"} <= heard
    assert "log of any.library" in heard
    assert SUITE.watches(people.admin.token[19:-6])
