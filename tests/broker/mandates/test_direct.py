"""The broker in the gateway's own process keeps the contract of mandates."""

import pytest

from tests.broker.broker_harness import BrokerHarness
from tests.broker.mandates.contract import *  # noqa: F403 the tests
from tests.broker.mandates.contract import Hands


@pytest.fixture
def hands(app: BrokerHarness) -> Hands:
    return Hands(app.local, app.local)
