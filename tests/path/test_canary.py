"""The canary of this suite can sing: a token that is said anywhere is found."""

import logging

import pytest

from core.token_format import new_token
from tests.path.conftest import People
from tests.support.canary import Canary
from tests.support.product import Node, Product


def test_a_token_in_a_log_is_found() -> None:
    canary = Canary()
    token = canary.register(new_token()[1])
    with canary.listening():
        logging.getLogger("some.library").debug("sent %s", token)
    with pytest.raises(AssertionError, match=r"log of some\.library"):
        canary.check()


def test_its_secret_part_is_enough() -> None:
    canary = Canary()
    token = canary.register(new_token()[1])
    canary.hear("somewhere", b"..." + token[19:-6].encode() + b"...")
    with pytest.raises(AssertionError, match="somewhere"):
        canary.check()


async def test_everything_is_listened_to(product: Product, node: Node, people: People) -> None:
    await node.call(people.admin.token, "lab", "look")
    await node.post("malformed", "ping")
    await product.hear_the_tables()
    heard = {where for where, _ in product.canary.said}
    assert {"answer", "audit.incoming", "auth.api_tokens", "core.users"} <= heard
    assert people.admin.token[19:-6].encode() in product.canary.secrets
