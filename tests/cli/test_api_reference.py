"""The API reference of the running product, for somebody who has signed in with a one-time link."""

from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.cli.conftest import Home


def test_the_reference_of_the_product(cli: Home, tenant: str) -> None:
    assert cli.run("user", "create", "reader@acme.example", "--tenant", tenant).code == 0
    link = cli.run("user", "link", "reader@acme.example", "--json", "--tenant", tenant).json()["sign_in_link"]
    url = f"http://{urlsplit(link).netloc}"
    with httpx2.Client(base_url=url, trust_env=False, headers={"Origin": url}) as browser:
        stranger = browser.get("/docs")
        assert (stranger.status_code, stranger.headers["location"]) == (303, "/sign-in?next=%2Fdocs")
        form = {"code": parse_qs(urlsplit(link).query)["code"][0], "next": "/docs"}
        signed_in = browser.post("/sign-in/link", data=form)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/docs")
        page = browser.get("/docs", params={"q": "scim-tokens"})
        assert page.status_code == 200
        assert f"{url}/api/v1/scim-tokens" in page.text
