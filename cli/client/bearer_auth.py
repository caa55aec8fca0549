"""Bearer credentials of the command line: an API token, or the access token of a person who has signed in."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from cli.client import browser_sign_in
from cli.client.api_errors import NewSignInRequired, NotSignedIn, build_api_error
from cli.client.browser_sign_in import LoginTokens, SignInOptions
from cli.client.login_store import Login, LoginStore
from cli.client.server_http import ServerHttp, ServerResponse
from cli.client.server_metadata import ServerEndpoints, discover_endpoints
from core.errors import Forbidden
from core.secret import Secret

EXPIRY_MARGIN = timedelta(seconds=30)
"""A token that ends so soon is not used any more."""
MAX_SIGN_IN_AGE_SECONDS = 300
"""A browser's sign-in that is older than this is not good enough where the API asks for one of ten minutes: consent and
the request itself take time too."""
SIGN_IN_AGAIN_REASON = (
    "This needs a sign-in of the last ten minutes, and yours is older: sign in again, and the command goes on."
)
PROFILE_PATH = "/api/v1/me"


class BearerAuth(Protocol):
    """Gives bearer credentials for one server."""

    def get_token(self) -> Secret: ...

    def renew_token(self, rejected: Secret) -> Secret | None:
        """Another one in the place of one that the server has refused; None if there is none."""
        ...

    def reauthenticate(self) -> Secret:
        """Return a token of a recent sign-in."""
        ...


class StaticTokenAuth:
    """A credential that is never renewed: an API token from the environment. `refusal` says why it cannot do what
    needs a new sign-in."""

    refusal = "no token can do this, only a person who has just signed in: unset MCPIST_TOKEN and try again"

    def __init__(self, token: Secret) -> None:
        self._token = token

    def get_token(self) -> Secret:
        return self._token

    def renew_token(self, rejected: Secret) -> Secret | None:
        return None

    def reauthenticate(self) -> Secret:
        raise NewSignInRequired(self.refusal)


class OperatorAuth(StaticTokenAuth):
    """The operator's credential of the product on this machine."""

    refusal = "the operator cannot do this, only a person who has just signed in: use --server URL"


class LoginAuth:
    """The stored login of a person."""

    def __init__(self, http: ServerHttp, logins: LoginStore, server: str) -> None:
        self._http = http
        self._logins = logins
        self._server = server

    def get_token(self) -> Secret:
        """Return the access token, refreshed before it expires.

        Raises:
            NotSignedIn: there is no login for the server, or it has ended.
        """
        tokens = self._get_login().tokens
        lasts = tokens.expires_at - datetime.now(UTC) > EXPIRY_MARGIN
        return tokens.access if lasts else self._refresh_token(tokens.access)

    def renew_token(self, rejected: Secret) -> Secret | None:
        return self._refresh_token(rejected)

    def reauthenticate(self) -> Secret:
        """Ask the same person to sign in again.

        Raises:
            Forbidden: another person has signed in.
        """
        before = self._get_login()
        options = SignInOptions(max_age=MAX_SIGN_IN_AGE_SECONDS, reason=SIGN_IN_AGAIN_REASON)
        login = sign_in_and_store(self._http, self._logins, self._server, options, expected=before.user_id)
        return login.tokens.access

    def _get_login(self) -> Login:
        login = self._logins.find(self._server)
        if login is None:
            raise NotSignedIn(f"you are not signed in at {self._server}: run `mcpist login {self._server}`")
        return login

    def _refresh_token(self, old: Secret) -> Secret:
        """Refresh the token; of several processes at once, one refreshes and the others use its result."""
        with self._logins.lock_login(self._server):
            login = self._get_login()
            if login.tokens.access.reveal() != old.reveal():
                return login.tokens.access
            tokens = browser_sign_in.refresh_tokens(
                self._http, discover_endpoints(self._http, self._server), login.tokens.refresh
            )
            self._logins.put(Login(login.server, login.user_id, login.email, login.tenant, tokens))
            return tokens.access


def sign_in_and_store(
    http: ServerHttp, logins: LoginStore, server: str, options: SignInOptions, *, expected: str = ""
) -> Login:
    """Sign a person in and store the login; an earlier one is replaced and revoked.

    Raises:
        Forbidden: they did not agree, or another person than `expected` (a user's id) has signed in.
        Unavailable: the sign-in took too long, or the server is unavailable.
    """
    endpoints = discover_endpoints(http, server)
    tokens = browser_sign_in.run_browser_sign_in(http, endpoints, options)
    login = _fetch_login(http, server, tokens)
    if expected and login.user_id != expected:
        browser_sign_in.revoke_refresh_token(http, endpoints, tokens.refresh)
        raise Forbidden(f"{login.email} has signed in, another person than before; `mcpist login {server}` changes it")
    with logins.lock_login(server):
        before = logins.find(server)
        logins.put(login)
    if before is not None:
        browser_sign_in.revoke_refresh_token(http, endpoints, before.tokens.refresh)
    return login


def sign_out(http: ServerHttp, logins: LoginStore, login: Login) -> bool:
    """Forget a login, and end it at the server; whether that is sure.

    Raises:
        Unavailable: the server is away. The login is forgotten here all the same.
    """
    with logins.lock_login(login.server):
        logins.remove(login.server)
        endpoints: ServerEndpoints = discover_endpoints(http, login.server)
        return browser_sign_in.revoke_refresh_token(http, endpoints, login.tokens.refresh)


def _fetch_login(http: ServerHttp, server: str, tokens: LoginTokens) -> Login:
    """Whose tokens they are."""
    response: ServerResponse = http.send("GET", server + PROFILE_PATH, bearer=tokens.access)
    if response.status != 200:
        raise build_api_error(response)
    profile = response.json()
    return Login(server, str(profile["id"]), str(profile["email"]), str(profile["tenant"]["slug"]), tokens)
