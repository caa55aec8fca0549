"""No refresh token is shown to a vendor twice, in the whole suite: whichever test does it fails, by its name.

A test that provokes it, or that looks at how a vendor reacts, is marked ``@pytest.mark.reuse("why")``. Each worker of
xdist counts for the tests that it runs itself.
"""

from collections.abc import Generator

import pytest

from tests.support.reuse import REUSES

MARKER = "reuse(why): this test shows a spent refresh token to a vendor on purpose"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("reuse"):
            if not (marker.args and str(marker.args[0]).strip()):
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.reuse needs a reason")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """After every fixture has ended, those of the module and the session included where it is their last test."""
    try:
        return (yield)
    finally:
        counted = REUSES.taken()
        if counted and item.get_closest_marker("reuse") is None:
            told = ", ".join(f"{name}: {count}" for name, count in counted.items())
            pytest.fail(f"{item.nodeid} showed a spent refresh token to a vendor ({told})", pytrace=False)
