"""The failures of peers.md §2A and §2G that a vendor's token endpoint has a part in, as data: what the counterpart
does, and what MCPist has to make of it. The doctor's classification is tested with the same list.

`does` sets the counterpart up; `cls` and `reason` are those of a Failed, or None where tokens have to come. `state` is
what the doctor has to show: ``connected``, ``needs_reauth``, ``service_misconfigured``, ``vendor_down``, or
``refreshing`` (nothing is lost, it is tried again).
"""

from collections.abc import Callable
from dataclasses import dataclass

from broker.oauth_client.types import ErrorClass
from broker.providers import error_reasons
from tests.support.vendor_tokens.server import VendorTokens
from tests.support.vendor_tokens.state import Fault
from tests.support.vendor_tokens.styles import microsoft_refusal, rfc


@dataclass(frozen=True)
class PeerFailure:
    """`id` is section and number in peers.md, with a letter where one entry has several faults."""

    id: str
    source: str
    story: str
    vendor: str
    does: Callable[[VendorTokens], object]
    cls: ErrorClass | None
    reason: str
    state: str
    spent: bool = False
    """The refresh token was presented once before, so that it is spent."""


def _nothing(_: VendorTokens) -> None:
    """The vendor behaves."""


def _dead(vendor: VendorTokens) -> None:
    for grant in vendor.state.grants:
        grant.dead = True


def _fault(kind: str, status: int = 500, body: object = "", **headers: str) -> Callable[[VendorTokens], None]:
    def put(vendor: VendorTokens) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        vendor.faults.append(Fault(kind, status, named, body))

    return put


def _refusing(error: str, status: int = 400) -> Callable[[VendorTokens], None]:
    def put(vendor: VendorTokens) -> None:
        _dead(vendor)
        vendor.overrides["dead"] = rfc(error, status)

    return put


def _other_secret(vendor: VendorTokens) -> None:
    vendor.secret = "the-secret-that-the-vendor-has-now"


def _microsoft(code: int, error: str = "invalid_grant", status: int = 400) -> Callable[[VendorTokens], None]:
    def put(vendor: VendorTokens) -> None:
        _dead(vendor)
        vendor.overrides["dead"] = microsoft_refusal(error, code, status)

    return put


P, S, T, U = ErrorClass.PERMANENT, ErrorClass.SERVICE, ErrorClass.THROTTLED, ErrorClass.UNCERTAIN

FAILURES: tuple[PeerFailure, ...] = (
    PeerFailure("2A-1", "IBM/mcp-context-forge#1023", "refresh is not implemented: offline after a day",
                "atlassian", _nothing, None, "", "connected"),
    PeerFailure("2A-3", "BerriAI/litellm#33072", "the grant ends, tools vanish silently",
                "notion", _dead, P, error_reasons.REVOKED, "needs_reauth"),
    PeerFailure("2A-5", "BerriAI/litellm PR#30227", "an answer that never comes hangs the client",
                "github", _fault("stall_after"), U, error_reasons.TIMEOUT, "refreshing"),
    PeerFailure("2A-8", "PrefectHQ/fastmcp#4901", "a rotated token is presented again within the vendor's grace",
                "atlassian", _nothing, None, "", "connected", spent=True),
    PeerFailure("2A-10", "NangoHQ/nango#1016", "a refresh says yes and gives nothing",
                "github", _fault("garbage", body="{}"), U, error_reasons.UNREADABLE, "refreshing"),
    PeerFailure("2A-11", "NangoHQ/nango#6775", "the answer has no expires_in, so nobody ever refreshes",
                "notion", _nothing, None, "", "connected"),
    PeerFailure("2A-12a", "maximhq/bifrost#2557", "a network error ends the grant for good",
                "github", _fault("hang_up_before"), U, error_reasons.CUT_OFF, "refreshing"),
    PeerFailure("2A-12b", "maximhq/bifrost#2557", "a vendor's hiccup ends the grant for good",
                "google", _fault("status", 503, retry_after="20"), T, error_reasons.UNAVAILABLE, "vendor_down"),
    PeerFailure("2A-13", "obot-platform/obot#7501", "invalid_request in the place of invalid_grant: retried for ever",
                "google", _refusing("invalid_request"), S, error_reasons.REQUEST_REFUSED, "service_misconfigured"),
    PeerFailure("2A-14a", "stacklok/toolhive#6508", "a grant is used with another client than it was given to",
                "google", _other_secret, S, error_reasons.CLIENT_REFUSED, "service_misconfigured"),
    PeerFailure("2A-14b", "stacklok/toolhive#6508", "a changed scope breaks every grant",
                "google", _refusing("invalid_scope"), S, error_reasons.SCOPE_REFUSED, "service_misconfigured"),
    PeerFailure("2A-15", "stacklok/toolhive PR#5055", "Entra wants the person, every later call fails",
                "microsoft", _microsoft(50076, "interaction_required"), P, error_reasons.INTERACTION, "needs_reauth"),
    PeerFailure("2A-16", "stacklok/toolhive#6556", "dead after an hour, a restart does not help",
                "microsoft", _nothing, None, "", "connected"),
    PeerFailure("2A-18", "can1357/oh-my-pi#5081", "Notion revokes the grant when a spent token is shown",
                "notion", _nothing, P, error_reasons.REVOKED, "needs_reauth", spent=True),
    PeerFailure("2A-19", "anthropics/claude-code#91641", "Atlassian's 403 unauthorized_client for a dead token",
                "atlassian", _dead, P, error_reasons.REVOKED, "needs_reauth"),
    PeerFailure("2A-20", "giantswarm/mcp-oauth PR#511", "GitHub says bad_refresh_token with status 200",
                "github", _dead, P, error_reasons.REVOKED, "needs_reauth"),
    PeerFailure("2A-22", "NousResearch/hermes-agent#62333", "an answer without refresh token erases the stored one",
                "google", _nothing, None, "", "connected"),
    PeerFailure("2G-56", "maximhq/bifrost#6114", "the single sign-on in front answers 401 for the token endpoint",
                "google", _fault("status", 401, "<html>sign in</html>"), S, error_reasons.CLIENT_REFUSED,
                "service_misconfigured"),
    PeerFailure("2G-58", "maximhq/bifrost#3388", "the account is disabled, and nobody can sign in anew",
                "microsoft", _microsoft(50057), P, error_reasons.ACCOUNT_DISABLED, "needs_reauth"),
    PeerFailure("2G-60", "obot-platform/obot#7046", "the person has disconnected the app at the vendor: a loop",
                "fitbit", _dead, P, error_reasons.REVOKED, "needs_reauth"),
    PeerFailure("2G-61", "docker/mcp-gateway#197", "the URL is another server's, which redirects",
                "supabase", _fault("status", 302, location="https://elsewhere.example/"), S, error_reasons.REDIRECTED,
                "service_misconfigured"),
    PeerFailure("2G-62a", "docker/docker-agent#3198", "Notion is overloaded, and the connection never recovers",
                "notion", _fault("status", 529, {"code": "service_overload"}, retry_after="5"), T,
                error_reasons.UNAVAILABLE, "vendor_down"),
    PeerFailure("2G-62b", "docker/docker-agent#2417", "the client secret has run out, and people are told to sign in",
                "microsoft", _microsoft(7000222, "invalid_client", 401), S, error_reasons.SECRET_EXPIRED,
                "service_misconfigured"),
)  # fmt: skip
