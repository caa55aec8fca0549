"""The broker in the gateway's own process keeps the contract."""

import pytest

from broker.direct import LocalBroker
from broker.interface import Broker
from tests.broker.contract import *  # noqa: F403 the tests, and their fixtures
from tests.broker.world import World


@pytest.fixture
def broker(world: World) -> Broker:
    return LocalBroker(world.tokens, world.leases)
