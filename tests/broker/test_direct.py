"""The broker in the gateway's own process keeps the contract."""

import pytest

from broker.interface import Broker
from tests.broker.broker_harness import BrokerHarness
from tests.broker.contract import *  # noqa: F403 the tests, and their fixtures


@pytest.fixture
def broker(app: BrokerHarness) -> Broker:
    return app.local
