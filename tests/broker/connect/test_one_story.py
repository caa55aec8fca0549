"""A key that was not stored: the page and the API tell the same failure in the same words, and so does the command line
(tests/cli/test_credentials.py)."""

import pytest

from tests.broker.connect.connect_app import ConnectApp, shown
from tests.broker.connect.test_keys_by_the_api import put
from tests.support.running_product import free_port


@pytest.mark.parametrize(
    ("vendor", "said", "status"),
    [
        ("private", "cannot reach Kiosk", 503),
        ("nowhere", "cannot reach Kiosk", 503),
        ("refusing", "Kiosk does not accept this token", 400),
    ],
)
async def test_one_failure_one_story(app: ConnectApp, vendor: str, said: str, status: int) -> None:
    for slug in ("acme", "umbrella"):
        ada = await app.person(f"ada@{slug}.test", slug, allow=["kiosk.*"])
        if vendor != "refusing":
            await app.set_service(ada.tenant, "kiosk", base_url=_url(vendor))
        async with app.browser(ada) as browser:
            page = await browser.post("/connect/kiosk/key", key="xk-6-wrong")
            answer = await put(browser, "kiosk", secret="xk-6-wrong")
        text = answer.json()["detail"].removesuffix(" Nothing was stored")
        assert (answer.status_code, said in text, text in shown(page)) == (status, True, True), (text, shown(page))
        assert "may not" not in text
    await app.nothing_stored()


def _url(vendor: str) -> str:
    """An address in our own network, or a port that nobody has listed; strangers are not told which."""
    if vendor == "private":
        return "https://10.0.0.1"
    return f"http://127.0.0.1:{free_port()}"
