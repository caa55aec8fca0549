"""One browser for all tests of the folder; they run on the loop of the session."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def share_browser(keep_browser: None) -> None:
    """Let a test use the browser of the others."""
