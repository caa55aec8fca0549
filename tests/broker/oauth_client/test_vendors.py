"""Every habit of vendors.md §2, against a counterpart that has it."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest

from broker.connections.account_snapshot import schedule_keep_alive
from broker.oauth_client.requests import build_authorize_url
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, TokenResult, VendorFailure
from broker.oauth_client.userinfo import UserinfoClient
from broker.oauth_client.vendor_scopes import collect_scopes_to_request, find_missing_scopes
from broker.providers import error_reasons
from core.secret import Secret
from tests.broker.oauth_client.conftest import REDIRECT_URI, VERIFIER, Ways, connected, granted
from tests.support.vendor_tokens import STYLES, Fault, VendorTokens, vendor_tokens
from tests.support.vendor_tokens.server import PLAIN_SECRET
from tests.support.vendor_tokens.styles import DAY, Refusal, microsoft_refusal, notion_refusal, rfc

OAUTH = sorted(STYLES.keys() - {"toggl"})
REFRESHING = sorted(set(OAUTH) - {"github_oauth_app"})
GRAPH = "https://graph.microsoft.com/"


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vendor", names, indirect=True)


def failed(answer: TokenResult) -> VendorFailure:
    assert isinstance(answer, VendorFailure), answer
    return answer


async def refreshed(vendor: VendorTokens, endpoint: HttpTokenEndpointClient, token: Secret | None) -> TokenResult:
    assert token is not None
    return await endpoint.refresh(vendor.provider, vendor.client, token)


@of(*REFRESHING)
async def test_a_code_and_then_refreshes_give_tokens_that_the_vendor_takes(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one", "two")
    assert vendor.state.alive(first.tokens.access_token.reveal())
    refresh = first.tokens.refresh_token
    assert refresh is not None
    for _ in range(3):
        answer = granted(await endpoint.refresh(vendor.provider, vendor.client, refresh))
        assert vendor.state.alive(answer.tokens.access_token.reveal())
        refresh = answer.tokens.refresh_token or refresh
    assert vendor.state.reused == 0
    assert len(vendor.state.presented) == 3


@of(*OAUTH)
async def test_a_code_is_bound_to_its_redirect_uri_and_good_once(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    code = Secret(vendor.state.consent(["one"], REDIRECT_URI, VERIFIER))
    other = failed(
        await endpoint.redeem_code(vendor.provider, vendor.client, code, REDIRECT_URI + "/x", Secret(VERIFIER))
    )
    expected = ErrorClass.SERVICE if vendor.style.provider_id == "supabase" else ErrorClass.PERMANENT
    assert (other.error_class, other.status) == (expected, vendor.style.refusals["code"]()[0])
    if expected is ErrorClass.PERMANENT:
        assert other.reason == error_reasons.CODE_REFUSED


@of(*sorted(name for name in OAUTH if STYLES[name].pkce))
async def test_the_verifier_is_sent_where_the_vendor_checks_it(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    code = Secret(vendor.state.consent(["one"], REDIRECT_URI, VERIFIER))
    other = await endpoint.redeem_code(vendor.provider, vendor.client, code, REDIRECT_URI, Secret("another" * 8))
    assert failed(other).error_class in (ErrorClass.PERMANENT, ErrorClass.SERVICE)


@of(*REFRESHING)
async def test_a_dead_refresh_token_is_known_as_dead_however_the_vendor_says_it(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    vendor.state.grants[0].dead = True
    answer = failed(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert answer.error_class is ErrorClass.PERMANENT
    assert answer.reason == (
        error_reasons.EXPIRED if vendor.style.provider_id == "microsoft" else error_reasons.REVOKED
    )


@of(*REFRESHING)
async def test_a_wrong_client_secret_is_no_fault_of_the_person(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    assert first.tokens.refresh_token is not None
    wrong = OAuthClientConfig(vendor.client.client_id, Secret("another-secret"), settings=vendor.client.settings)
    answer = failed(await endpoint.refresh(vendor.provider, wrong, first.tokens.refresh_token))
    assert (answer.error_class, answer.reason) == (ErrorClass.SERVICE, error_reasons.CLIENT_REFUSED)
    granted(await endpoint.refresh(vendor.provider, vendor.client, first.tokens.refresh_token))  # nothing was lost


# Google


@of("google")
async def test_google_leaves_the_refresh_token_out_of_a_refresh(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    again = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert first.tokens.refresh_token is not None
    assert again.tokens.refresh_token is None
    assert again.tokens.expires_in == 3599


@of("google")
async def test_a_scope_that_the_person_unticked_is_lacking(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    events = "https://www.googleapis.com/auth/calendar.events"
    asked = ("openid", "email", events, events + ".readonly", "https://www.googleapis.com/auth/calendar.freebusy")
    first = await connected(vendor, endpoint, *asked, unticked=(events, events + ".readonly"))
    assert vendor.provider.oauth is not None
    assert find_missing_scopes(vendor.provider.oauth, asked, first.tokens.scopes) == (events, events + ".readonly")
    wider = await connected(vendor, endpoint, *asked, unticked=(events + ".readonly",))
    assert find_missing_scopes(vendor.provider.oauth, asked, wider.tokens.scopes) == ()


@of("google", "microsoft")
async def test_who_it_is_stands_in_the_id_token(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    first = await connected(vendor, endpoint, "openid")
    assert first.tokens.extra["name"] == "ada@acme.example"
    assert first.tokens.extra["id"] == {"google": "1077", "microsoft": "00000000-aaaa"}[vendor.style.provider_id]


@of("google")
@pytest.mark.parametrize(
    ("refusal", "cls", "reason"),
    [
        (rfc("invalid_grant", error_subtype="invalid_rapt"), ErrorClass.PERMANENT, error_reasons.REVOKED),
        (
            lambda: (400, {"error": "invalid_grant", "error_description": "reauth related error (invalid_rapt)"}),
            ErrorClass.PERMANENT,
            error_reasons.INTERACTION,
        ),
        (rfc("deleted_client", 401), ErrorClass.SERVICE, error_reasons.CLIENT_REFUSED),
        (rfc("admin_policy_enforced", 400), ErrorClass.SERVICE, error_reasons.CLIENT_NOT_ALLOWED),
        (rfc("rate_limit_exceeded", 403), ErrorClass.THROTTLED, error_reasons.TOO_MANY),
        (rfc("internal_failure", 400), ErrorClass.UNCERTAIN, error_reasons.SERVER_ERROR),
    ],
)
async def test_what_google_says_beside_the_standard(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, refusal: Refusal, cls: ErrorClass, reason: str
) -> None:
    vendor.overrides["dead"] = refusal
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (answer.error_class, answer.reason) == (cls, reason)


# Microsoft


@of("microsoft")
@pytest.mark.parametrize(
    ("refusal", "cls", "reason"),
    [
        (microsoft_refusal("invalid_grant", 700082), ErrorClass.PERMANENT, error_reasons.EXPIRED),
        (microsoft_refusal("invalid_grant", 50173), ErrorClass.PERMANENT, error_reasons.REVOKED),
        (microsoft_refusal("invalid_grant", 50057), ErrorClass.PERMANENT, error_reasons.ACCOUNT_DISABLED),
        (microsoft_refusal("invalid_grant", 65001), ErrorClass.PERMANENT, error_reasons.SCOPE),
        (microsoft_refusal("interaction_required", 50076), ErrorClass.PERMANENT, error_reasons.INTERACTION),
        (microsoft_refusal("interaction_required", 999999), ErrorClass.PERMANENT, error_reasons.INTERACTION),
        (microsoft_refusal("invalid_grant", 999999), ErrorClass.PERMANENT, error_reasons.REVOKED),
        (microsoft_refusal("invalid_client", 7000222, 401), ErrorClass.SERVICE, error_reasons.SECRET_EXPIRED),
        (microsoft_refusal("unauthorized_client", 700016), ErrorClass.SERVICE, error_reasons.CLIENT_REFUSED),
        (microsoft_refusal("invalid_request", 90002), ErrorClass.SERVICE, error_reasons.SETTINGS),
        (microsoft_refusal("temporarily_unavailable", 90033, 503), ErrorClass.UNCERTAIN, error_reasons.SERVER_ERROR),
        (microsoft_refusal("temporarily_unavailable", 90033), ErrorClass.THROTTLED, error_reasons.UNAVAILABLE),
    ],
)
async def test_microsofts_numbers_say_more_than_its_words(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, refusal: Refusal, cls: ErrorClass, reason: str
) -> None:
    vendor.overrides["dead"] = refusal
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (answer.error_class, answer.reason) == (cls, reason)


@of("microsoft")
async def test_an_old_refresh_token_of_microsofts_stays_good(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "Tasks.Read")
    second = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert second.tokens.refresh_token not in (None, first.tokens.refresh_token)
    granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert vendor.provider.oauth is not None
    assert vendor.provider.oauth.refresh.profile == "non_rotating"


@of("microsoft")
async def test_microsofts_answer_names_scopes_by_their_resource_and_leaves_some_out(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    asked = ("openid", "profile", "offline_access", "Tasks.Read")
    first = await connected(vendor, endpoint, *asked)
    assert first.tokens.scopes == (GRAPH + "Tasks.Read",)
    assert vendor.provider.oauth is not None
    assert find_missing_scopes(vendor.provider.oauth, asked, first.tokens.scopes) == ()
    assert find_missing_scopes(vendor.provider.oauth, ["Tasks.ReadWrite"], first.tokens.scopes) == ("Tasks.ReadWrite",)


# Notion


@of("notion")
async def test_notion_says_who_it_is_and_not_when_the_token_ends(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint)
    assert first.tokens.expires_in == 86_400
    assert first.tokens.scopes is None
    assert first.tokens.extra == {
        "id": "b0t",
        "name": "Acme",
        "workspace_id": "w0rk",
        "user": "Ada",
        "email": "ada@acme.example",
    }


@of("notion")
async def test_an_old_notion_connection_has_no_refresh_token(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    body = '{"access_token": "at_old-connection-token", "token_type": "bearer", "refresh_token": null, "bot_id": "b"}'
    vendor.faults.append(Fault("garbage", body=body))
    first = await connected(vendor, endpoint)
    assert first.tokens.refresh_token is None


@of("notion")
@pytest.mark.parametrize(
    ("status", "headers", "cls", "retry_after"),
    [
        (429, {"Retry-After": "7"}, ErrorClass.THROTTLED, 7.0),
        (529, {"Retry-After": "30"}, ErrorClass.THROTTLED, 30.0),
        (529, {}, ErrorClass.UNCERTAIN, None),
        (500, {"Retry-After": "30"}, ErrorClass.UNCERTAIN, None),
    ],
)
async def test_notion_tells_when_it_is_too_much(
    vendor: VendorTokens,
    endpoint: HttpTokenEndpointClient,
    status: int,
    headers: dict[str, str],
    cls: ErrorClass,
    retry_after: float | None,
) -> None:
    body = notion_refusal("service_overload", status)()[1]
    vendor.faults.append(Fault("status", status, headers, body))
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_whatever-it-may-be")))
    assert (answer.error_class, answer.retry_after, answer.status) == (cls, retry_after, status)


@of("notion")
async def test_notions_own_error_form_is_understood(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    vendor.overrides["dead"] = notion_refusal("invalid_grant", 400)
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (answer.error_class, answer.exchange.vendor_error) == (ErrorClass.PERMANENT, "invalid_grant")


# Atlassian


@of("atlassian")
@pytest.mark.reuse("what the vendor does after its grace")
async def test_atlassian_gives_the_same_answer_again_within_its_grace(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "offline_access")
    one = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    vendor.state.now += 599
    two = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert one.tokens.refresh_token == two.tokens.refresh_token
    assert vendor.provider.oauth is not None
    assert vendor.provider.oauth.refresh.grace_seconds == vendor.style.grace_seconds
    vendor.state.now += 2
    assert failed(await refreshed(vendor, endpoint, first.tokens.refresh_token)).error_class is ErrorClass.PERMANENT
    assert (vendor.state.replayed, vendor.state.reused) == (1, 1)


@of("atlassian")
async def test_atlassians_dead_token_is_told_from_a_client_that_may_not(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    dead = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (dead.error_class, dead.reason, dead.status) == (ErrorClass.PERMANENT, error_reasons.REVOKED, 403)
    vendor.overrides["dead"] = rfc("unauthorized_client", 403)
    other = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (other.error_class, other.reason) == (ErrorClass.SERVICE, error_reasons.CLIENT_NOT_ALLOWED)
    vendor.overrides["dead"] = rfc("invalid_grant", 403)
    documented = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("rt_unknown-to-this-vendor")))
    assert (documented.error_class, documented.reason) == (ErrorClass.PERMANENT, error_reasons.REVOKED)


# GitHub


@of("github")
async def test_a_github_app_says_no_with_200(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, Secret("ghr_unknown-to-this-vendor")))
    assert (answer.error_class, answer.status) == (ErrorClass.PERMANENT, 200)
    assert answer.exchange.vendor_error == "bad_refresh_token"


@of("github")
async def test_a_refresh_at_github_kills_the_old_access_token(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint)
    assert (first.tokens.expires_in, first.tokens.refresh_expires_in) == (28_800, 15_811_200)
    assert first.tokens.scopes is None
    granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert not vendor.state.alive(first.tokens.access_token.reveal())
    assert vendor.provider.oauth is not None
    assert vendor.provider.oauth.refresh.late


@of("github_oauth_app")
async def test_an_oauth_apps_tokens_never_end_and_its_scopes_have_commas(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "read:user", "repo")
    assert (first.tokens.expires_in, first.tokens.refresh_token) == (None, None)
    assert first.tokens.scopes == ("read:user", "repo")
    assert vendor.provider.oauth is not None
    assert find_missing_scopes(vendor.provider.oauth, ["public_repo", "workflow"], first.tokens.scopes) == ("workflow",)


@of("github_oauth_app", "github")
async def test_an_answer_in_form_encoding_is_read(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    body = "access_token=gho_16C7e42F292c6912E7&scope=repo%2Cgist&token_type=bearer&expires_in=28800"
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    vendor.faults.append(Fault("garbage", headers=headers, body=body))
    first = await connected(vendor, endpoint)
    assert first.tokens.access_token == Secret("gho_16C7e42F292c6912E7")
    assert first.tokens.expires_in == 28_800


# Supabase


@of("supabase")
async def test_supabase_says_yes_with_201_and_names_no_scopes(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint)
    assert first.exchange.status == 201
    assert first.tokens.scopes is None
    again = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert again.tokens.refresh_token not in (None, first.tokens.refresh_token)


# Fitbit


@of("fitbit")
async def test_fitbit_knows_its_user_and_has_two_minutes_of_grace(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "activity")
    assert first.tokens.extra == {"id": "2B4X"}
    one = granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    vendor.state.now += 119
    assert (
        granted(await refreshed(vendor, endpoint, first.tokens.refresh_token)).tokens.refresh_token
        == one.tokens.refresh_token
    )
    assert vendor.provider.oauth is not None
    assert vendor.provider.oauth.refresh.grace_seconds == vendor.style.grace_seconds


# All


def keep_alive(vendor: VendorTokens) -> float:
    """After how many seconds an unused grant is refreshed."""
    assert vendor.provider.oauth is not None
    begun = datetime.now(UTC)
    due = schedule_keep_alive(vendor.provider.oauth.refresh, begun)
    assert due is not None
    return (due - begun).total_seconds()


@of("google", "microsoft", "atlassian", "github")
async def test_a_grant_that_is_not_used_dies_and_ours_are_refreshed_long_before(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one", "offline_access")
    refresh = first.tokens.refresh_token
    assert refresh is not None
    for _ in range(4):
        vendor.state.now += keep_alive(vendor)
        refresh = (
            granted(await endpoint.refresh(vendor.provider, vendor.client, refresh)).tokens.refresh_token or refresh
        )
    vendor.state.now += (vendor.style.idle_days or 0) * DAY + 1
    dead = failed(await endpoint.refresh(vendor.provider, vendor.client, refresh))
    assert dead.error_class is ErrorClass.PERMANENT
    assert keep_alive(vendor) < (vendor.style.idle_days or 0) * DAY / 2


@of("atlassian")
async def test_a_grant_of_atlassians_dies_after_a_year_whatever_is_done(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one", "offline_access")
    refresh, began = first.tokens.refresh_token, vendor.state.now
    assert refresh is not None
    while vendor.state.now + keep_alive(vendor) < began + 365 * DAY:
        vendor.state.now += keep_alive(vendor)
        refresh = granted(await endpoint.refresh(vendor.provider, vendor.client, refresh)).tokens.refresh_token
        assert refresh is not None
    vendor.state.now = began + 365 * DAY + 1
    dead = failed(await endpoint.refresh(vendor.provider, vendor.client, refresh))
    assert (dead.error_class, dead.reason) == (ErrorClass.PERMANENT, error_reasons.REVOKED)
    assert vendor.provider.oauth is not None
    assert vendor.provider.oauth.refresh.life_days == vendor.style.life_days


@of("google", "github_oauth_app")
async def test_one_grant_too_many_ends_the_oldest_without_a_word(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, way: Ways
) -> None:
    first = await connected(vendor, endpoint, "one")
    most = vendor.style.most_grants
    assert most is not None
    for _ in range(most - 1):
        last = await connected(vendor, endpoint, "one")
    assert vendor.state.alive(first.tokens.access_token.reveal())
    last = await connected(vendor, endpoint, "one")
    assert vendor.state.alive(last.tokens.access_token.reveal())
    if first.tokens.refresh_token is not None:
        dead = failed(await endpoint.refresh(vendor.provider, vendor.client, first.tokens.refresh_token))
    else:
        asked = UserinfoClient(await way(vendor.url))
        dead = await asked.fetch_account(vendor.provider, vendor.client.settings, first.tokens.access_token, {})
        assert isinstance(dead, VendorFailure)
    assert (dead.error_class, dead.reason) == (ErrorClass.PERMANENT, error_reasons.REVOKED)


@of("google", "microsoft", "atlassian")
async def test_we_ask_for_what_a_refresh_token_takes(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    oauth = vendor.provider.oauth
    assert oauth is not None
    url = build_authorize_url(
        vendor.provider, vendor.client, redirect_uri=REDIRECT_URI, state="s",
        scopes=collect_scopes_to_request(oauth, ["one"]),
        verifier=Secret(VERIFIER),
    )  # fmt: skip
    asked = dict(parse_qsl(urlsplit(url).query))
    first = await connected(vendor, endpoint, *asked["scope"].split(), asked=asked)
    assert first.tokens.refresh_token is not None
    # The control: a vendor that is asked for less gives none.
    less = {name: value for name, value in asked.items() if name not in ("access_type", "scope")}
    assert (await connected(vendor, endpoint, "one", asked=less)).tokens.refresh_token is None


@of(*REFRESHING)
async def test_revoking_ends_the_grant_where_the_vendor_can(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    told = await endpoint.revoke(
        vendor.provider, vendor.client, access=first.tokens.access_token, refresh=first.tokens.refresh_token
    )
    if vendor.style.revoke is None:
        assert (told.done, told.exchange) == (False, None)
        return
    assert told.done, told
    assert vendor.state.grants[0].dead
    assert not vendor.state.alive(first.tokens.access_token.reveal())


@of("github_oauth_app", "notion")
async def test_a_grant_without_refresh_token_is_revoked_by_its_access_token(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    assert (await endpoint.revoke(vendor.provider, vendor.client, access=first.tokens.access_token, refresh=None)).done
    assert vendor.state.grants[0].dead


@of("google", "github")
async def test_a_grant_that_is_gone_already_counts_as_revoked(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    told = await endpoint.revoke(
        vendor.provider, vendor.client, access=Secret("at_unknown-to-this-vendor"), refresh=None
    )
    assert told.done


async def test_basic_without_its_encoding_is_there_for_vendors_that_do_not_decode(way: Ways) -> None:
    async with vendor_tokens(STYLES["fitbit"], PLAIN_SECRET) as vendor:
        endpoint = HttpTokenEndpointClient(await way(vendor.url))
        client = OAuthClientConfig(vendor.client.client_id, Secret(PLAIN_SECRET), auth_method="basic_raw")
        code = Secret(vendor.state.consent(["one"], REDIRECT_URI, VERIFIER))
        granted(await endpoint.redeem_code(vendor.provider, client, code, REDIRECT_URI, Secret(VERIFIER)))
