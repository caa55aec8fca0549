"""Where a credential may be sent, and the placeholders of a base URL."""

import pytest

from core.secret import Secret
from gateway.vendor_session.vendor_problems import OriginNotAllowed
from modules.kit import VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, OWNER, FakeLease, VendorSessionApp
from tests.gateway.vendor_session.doubles import answering


class Bound:
    """A lease for these origins; the second one that is asked for is for others."""

    def __init__(self, *origins: str) -> None:
        self.origins = list(origins)

    async def lease(self, rejected_version: int | None = None) -> FakeLease:
        return FakeLease(1 if rejected_version is None else 2, Secret("bound-3f"), (self.origins.pop(0),))


async def test_a_credential_is_sent_nowhere_else(app: VendorSessionApp) -> None:
    api = VendorApi(app.vendor.url, NO_ACCOUNT)
    for origin in ("https://api.vendor.test", "", app.vendor.url + "/", app.vendor.url.replace("http", "https")):
        with pytest.raises(OriginNotAllowed):
            await app.sessions.create_client(api, VendorSettings(), Bound(origin), OWNER).request("GET", "/x")
    assert app.vendor.requests == []
    answer = await app.sessions.create_client(api, VendorSettings(), Bound(app.vendor.url), OWNER).request("GET", "/x")
    assert answer.status == 200


async def test_a_lease_without_origins_is_sent_nowhere(app: VendorSessionApp) -> None:
    api = VendorApi(app.vendor.url, NO_ACCOUNT)

    class Unbound:
        async def lease(self, rejected_version: int | None = None) -> FakeLease:
            return FakeLease(1, Secret("bound-3f"), ())

    with pytest.raises(OriginNotAllowed):
        await app.sessions.create_client(api, VendorSettings(), Unbound(), OWNER).request("GET", "/x")
    assert app.vendor.requests == []


async def test_a_lease_that_is_given_after_a_refusal_is_looked_at_too(app: VendorSessionApp) -> None:
    api = VendorApi(app.vendor.url, NO_ACCOUNT)
    app.vendor.scripts = [answering(401)]
    client = app.sessions.create_client(api, VendorSettings(), Bound(app.vendor.url, "https://elsewhere.test"), OWNER)
    with pytest.raises(OriginNotAllowed):
        await client.request("GET", "/x")
    assert len(app.vendor.requests) == 1


async def test_a_base_url_is_filled_by_what_is_known_of_the_connection(app: VendorSessionApp) -> None:
    api = VendorApi(app.vendor.url + "/ex/jira/{site}/rest", NO_ACCOUNT)
    attributes = {"site": "11223344-a1b2.c_d~e", "site_url": "https://acme.vendor.test"}
    client = app.sessions.create_client(api, VendorSettings(), app.leases, OWNER, attributes=attributes)
    await client.request("GET", "/issue")
    assert app.vendor.requests[0].target == "/ex/jira/11223344-a1b2.c_d~e/rest/issue"
    assert await client.get_connection() == attributes


@pytest.mark.parametrize("site", ["", ".", "..", "a/b", "a%2fb", "a?b", "a#b", "a b", "ä", "x" * 201, "{site}", "a\n"])
async def test_what_is_no_part_of_a_path_fills_none(app: VendorSessionApp, site: str) -> None:
    api = VendorApi(app.vendor.url + "/ex/{site}", NO_ACCOUNT)
    with pytest.raises(VendorProblem, match="has no site"):
        app.sessions.create_client(api, VendorSettings(), app.leases, OWNER, attributes={"site": site})
    assert app.vendor.requests == []


@pytest.mark.parametrize(
    "base_url",
    [
        "https://{site}.vendor.test",
        "https://{site}",
        "https://api.vendor.test:{port}/x",
        "https://a.test/{",
        "https://a.test/{A}",
    ],
)
def test_a_placeholder_is_in_the_path_alone(base_url: str) -> None:
    with pytest.raises(TypeError):
        VendorApi(base_url, NO_ACCOUNT)
