"""Whose account it is, which sites it has, and whether a key is good."""

import base64

import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.oauth_client.userinfo import AccountIdentity, UserinfoClient, VendorSite
from broker.providers import error_reasons
from broker.providers.catalogue import load_builtin_providers
from core.errors import Invalid
from core.secret import Secret
from tests.broker.oauth_client.conftest import Ways, connected
from tests.broker.oauth_client.test_vendors import of
from tests.support.vendor_tokens import VendorTokens

KEYS = {
    "notion": "ntn_key-of-a-person-0123456789",
    "github": "github_pat_of-a-person-0123456789",
    "supabase": "sbp_key-of-a-person-0123456789",
    "toggl": "1971800d4d82861d8f2c1651fea4d212",
}


@of("google", "microsoft", "notion", "atlassian", "github", "github_oauth_app", "supabase", "fitbit")
async def test_every_oauth_provider_says_whose_grant_it_is(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, way: Ways
) -> None:
    first = await connected(vendor, endpoint, "one")
    accounts = UserinfoClient(await way(vendor.url))
    found = await accounts.fetch_account(
        vendor.provider, vendor.client.settings, first.tokens.access_token, first.tokens.extra
    )
    assert isinstance(found, AccountIdentity), found
    assert (found.id, found.name) == {
        "google": ("1077", "ada@acme.example"),
        "microsoft": ("00000000-aaaa", "ada@acme.example"),
        "notion": ("b0t", "Acme"),
        "atlassian": ("5b10a", "ada@acme.example"),
        "github": ("583231", "octocat"),
        "github_oauth_app": ("583231", "octocat"),
        "supabase": ("acme-org", "Acme"),
        "fitbit": ("2B4X", ""),
    }[vendor.style.provider_id]


@of("atlassian")
async def test_a_grant_of_several_sites_names_them_all(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, way: Ways
) -> None:
    first = await connected(vendor, endpoint, "one")
    sites = await UserinfoClient(await way(vendor.url)).list_sites(vendor.provider, {}, first.tokens.access_token)
    assert sites == (
        VendorSite("c1", "acme", "https://acme.atlassian.example", ("read:jira-work",)),
        VendorSite("c2", "beta", "https://beta.atlassian.example", ("read:jira-work",)),
    )


@of("github")
async def test_a_token_that_the_api_refuses_is_said_to_be_revoked(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, way: Ways
) -> None:
    accounts = UserinfoClient(await way(vendor.url))
    found = await accounts.fetch_account(
        vendor.provider, vendor.client.settings, Secret("ghu_unknown-to-this-vendor"), {}
    )
    assert isinstance(found, VendorFailure)
    assert (found.error_class, found.reason, found.exchange.path) == (
        ErrorClass.PERMANENT,
        error_reasons.REVOKED,
        "/user",
    )


@of(*KEYS)
async def test_a_key_is_checked_against_the_vendor(vendor: VendorTokens, way: Ways) -> None:
    key = Secret(KEYS[vendor.style.provider_id])
    accounts, settings = UserinfoClient(await way(vendor.url)), vendor.client.settings
    refused = await accounts.check_key(vendor.provider, settings, key)
    assert isinstance(refused, VendorFailure)
    assert (refused.error_class, refused.reason) == (ErrorClass.PERMANENT, error_reasons.KEY_REFUSED)
    vendor.keys.add(key.reveal())
    found = await accounts.check_key(vendor.provider, settings, key)
    assert isinstance(found, AccountIdentity)
    assert found.id


@of("notion")
@pytest.mark.parametrize("key", ["", "sbp_other-vendors-key", "ntn_with a blank in it", "ntn_" + "x" * 5000, "ntn_é"])
async def test_a_key_of_another_form_is_sent_nowhere(vendor: VendorTokens, way: Ways, key: str) -> None:
    with pytest.raises(Invalid, match="a Notion key") as told:
        await UserinfoClient(await way(vendor.url)).check_key(vendor.provider, {}, Secret(key))
    assert "other-vendors" not in str(told.value)
    assert not vendor.asked


async def test_a_provider_without_keys_takes_none(way: Ways) -> None:
    with pytest.raises(Invalid, match="does not support keys"):
        await UserinfoClient(await way()).check_key(load_builtin_providers().get("google"), {}, Secret("x"))


@of("toggl")
async def test_toggls_key_is_the_user_of_basic(vendor: VendorTokens, way: Ways) -> None:
    vendor.keys.add(KEYS["toggl"])
    await UserinfoClient(await way(vendor.url)).check_key(vendor.provider, {}, Secret(KEYS["toggl"]))
    scheme, _, told = vendor.asked[0].headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(told).decode()) == ("Basic", f"{KEYS['toggl']}:api_token")


@of("toggl")
async def test_a_colon_would_make_two_of_a_key(vendor: VendorTokens, way: Ways) -> None:
    with pytest.raises(Invalid, match="without a colon"):
        await UserinfoClient(await way(vendor.url)).check_key(vendor.provider, {}, Secret("user:password"))
    assert not vendor.asked


@of("supabase")
async def test_an_answer_of_another_form_is_no_account(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, way: Ways
) -> None:
    first = await connected(vendor, endpoint)
    vendor.resources["/v1/organizations"] = []
    found = await UserinfoClient(await way(vendor.url)).fetch_account(
        vendor.provider, {}, first.tokens.access_token, {}
    )
    assert isinstance(found, VendorFailure)
    assert (found.error_class, found.reason) == (ErrorClass.UNCERTAIN, error_reasons.UNREADABLE)


async def test_a_generic_server_without_a_way_to_tell_is_asked_nothing(way: Ways) -> None:
    settings = {"authorize_url": "https://id.example/authorize", "token_url": "https://id.example/token"}
    found = await UserinfoClient(await way()).fetch_account(
        load_builtin_providers().get("oauth2"), settings, Secret("at_x"), {}
    )
    assert found is None
