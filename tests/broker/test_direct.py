"""The broker in the gateway's own process keeps the contract."""

import pytest

from broker.interface import Broker
from broker.local import LocalBroker
from tests.broker.contract import *  # noqa: F403 the tests, and their fixtures
from tests.broker.world import World


@pytest.fixture
def broker(world: World) -> Broker:
    return LocalBroker(world.tokens, world.leases)
