"""Our own words for why a token endpoint gave no tokens: one list, for events, the doctor and its texts."""

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

REASONS = frozenset(value for name, value in dict(globals()).items() if name.isupper())
"""All of them; core/connection_causes.py has their texts."""
