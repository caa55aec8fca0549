"""Our own words for why a token endpoint gave no tokens: one list, for events, the doctor and its texts."""

from types import MappingProxyType

# of the grant itself (permanent)
REVOKED = "revoked"
EXPIRED = "expired"
SCOPE = "scope"
INTERACTION = "interaction"
ACCOUNT_DISABLED = "account_disabled"
CODE_REFUSED = "code_refused"
KEY_REFUSED = "key_refused"

# of our client or our request (service)
CLIENT_REFUSED = "client_refused"
SECRET_EXPIRED = "secret_expired"  # noqa: S105 - a word, no secret
CLIENT_NOT_ALLOWED = "client_not_allowed"
SCOPE_REFUSED = "scope_refused"
REQUEST_REFUSED = "request_refused"
REDIRECT_URI_REFUSED = "redirect_uri_refused"
NOT_FOUND = "not_found"
REDIRECTED = "redirected"
REFUSED = "refused"
REGISTRATION_REFUSED = "registration_refused"
TOKEN_TYPE = "token_type"  # noqa: S105 - a word, no secret
URL_REFUSED = "url_refused"
SETTINGS = "settings"

# before anything was sent (not_sent)
ADDRESS = "address"
NAME = "name"
CONNECT = "connect"
TLS = "tls"
CONNECT_TIMEOUT = "connect_timeout"
WITHDRAWN = "withdrawn"

# not processed (throttled)
TOO_MANY = "too_many_requests"
UNAVAILABLE = "unavailable"

# nobody knows (uncertain)
TIMEOUT = "timeout"
CUT_OFF = "cut_off"
SERVER_ERROR = "server_error"
UNREADABLE = "unreadable"
TOO_LARGE = "too_large"

REASON_DESCRIPTIONS = MappingProxyType(
    {
        REVOKED: "the vendor no longer accepts the grant: it was revoked, or used up elsewhere",
        EXPIRED: "the grant's time is over, because it was not used or too old",
        SCOPE: "the grant does not cover what is needed",
        INTERACTION: "the vendor wants the person to sign in or to consent again",
        ACCOUNT_DISABLED: "the person's account is disabled at the vendor",
        CODE_REFUSED: "the vendor does not accept the code that the browser brought",
        KEY_REFUSED: "the vendor does not accept the key",
        CLIENT_REFUSED: "the vendor does not know the client id, or its secret is wrong",
        SECRET_EXPIRED: "the client secret has run out",
        CLIENT_NOT_ALLOWED: "the vendor does not allow our client this kind of grant",
        SCOPE_REFUSED: "the vendor refuses a scope that was asked for",
        REQUEST_REFUSED: "the vendor calls our request wrong",
        REDIRECT_URI_REFUSED: "the redirect URI is not the one that is registered at the vendor",
        NOT_FOUND: "there is no token endpoint at the URL",
        REDIRECTED: "the token endpoint answers with a redirect, which is not followed",
        REFUSED: "the vendor refuses, and gives no reason that we know",
        REGISTRATION_REFUSED: "the server does not let our client register itself",
        TOKEN_TYPE: "the vendor gave a token that is none for an Authorization header",
        URL_REFUSED: "MCPist is not allowed to reach the URL; MCPIST_ALLOWED_PRIVATE_HOSTS lists exceptions",
        SETTINGS: "a setting of the OAuth client is missing or wrong",
        ADDRESS: "the host's name has no address that MCPist may reach",
        NAME: "the name of the vendor's host cannot be looked up now",
        CONNECT: "no connection to the vendor",
        TLS: "the vendor's certificate is not good",
        CONNECT_TIMEOUT: "the vendor did not take the connection in time",
        WITHDRAWN: "our own turn was over before anything was sent",
        TOO_MANY: "the vendor has had too many requests",
        UNAVAILABLE: "the vendor is not available for now",
        TIMEOUT: "the vendor did not answer in time",
        CUT_OFF: "the connection broke before the answer was whole",
        SERVER_ERROR: "the vendor had an error of its own",
        UNREADABLE: "the vendor's answer is not in a form that we know",
        TOO_LARGE: "the vendor's answer is too large",
    }
)
"""Description of each reason, one sentence for users."""
