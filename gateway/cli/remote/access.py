"""What the command line shows a server: an API token that was given, or the access of a person who has signed in."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from core.errors import Forbidden
from core.secret import Secret
from gateway.cli.remote import sign_in
from gateway.cli.remote.discovery import Endpoints, discovered
from gateway.cli.remote.http import Answer, Http
from gateway.cli.remote.logins import Login, Logins
from gateway.cli.remote.problems import NotSignedIn, SignInAgain, problem_of
from gateway.cli.remote.sign_in import Tokens, Wish

SPARE = timedelta(seconds=30)
"""A token that ends so soon is not used any more."""
FRESH_SECONDS = 300
"""A browser's sign-in that is older than this is not good enough where the API asks for one of ten minutes: consent and
the request itself take time too."""
AGAIN = "This needs a sign-in of the last ten minutes, and yours is older: sign in again, and the command goes on."
ME = "/api/v1/me"


class Access(Protocol):
    """Gives bearer credentials for one server."""

    def bearer(self) -> Secret: ...

    def renewed(self, refused: Secret) -> Secret | None:
        """Another one in the place of one that the server has refused; None if there is none."""
        ...

    def after_new_sign_in(self) -> Secret:
        """One that stands on a sign-in of these minutes."""
        ...


class Given:
    """An API token from the environment."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    def bearer(self) -> Secret:
        return self._token

    def renewed(self, refused: Secret) -> Secret | None:
        return None

    def after_new_sign_in(self) -> Secret:
        raise SignInAgain(
            "no token can do this, only a person who has just signed in: unset MCPIST_TOKEN and try again"
        )


class SignedIn:
    """The stored login of a person."""

    def __init__(self, http: Http, logins: Logins, server: str) -> None:
        self._http = http
        self._logins = logins
        self._server = server

    def bearer(self) -> Secret:
        """The access token, refreshed before it ends.

        Raises:
            NotSignedIn: nobody is signed in at the server, or not any more.
        """
        tokens = self._login().tokens
        lasts = tokens.expires_at - datetime.now(UTC) > SPARE
        return tokens.access if lasts else self._refreshed(tokens.access)

    def renewed(self, refused: Secret) -> Secret | None:
        return self._refreshed(refused)

    def after_new_sign_in(self) -> Secret:
        """Ask the person to sign in again, who has to be the same one.

        Raises:
            Forbidden: somebody else has signed in.
        """
        before = self._login()
        wish = Wish(max_age=FRESH_SECONDS, reason=AGAIN)
        login = begin(self._http, self._logins, self._server, wish, expected=before.user_id)
        return login.tokens.access

    def _login(self) -> Login:
        found = self._logins.find(self._server)
        if found is None:
            raise NotSignedIn(f"you are not signed in at {self._server}: run `mcpist login {self._server}`")
        return found

    def _refreshed(self, old: Secret) -> Secret:
        """Of several processes that come here at once, one refreshes and the others take what it got."""
        with self._logins.locked(self._server):
            login = self._login()
            if login.tokens.access.reveal() != old.reveal():
                return login.tokens.access
            tokens = sign_in.refreshed(self._http, discovered(self._http, self._server), login.tokens.refresh)
            self._logins.put(Login(login.server, login.user_id, login.email, login.tenant, tokens))
            return tokens.access


def begin(http: Http, logins: Logins, server: str, wish: Wish, *, expected: str = "") -> Login:
    """Sign a person in and keep it, in the place of an earlier login, which ends.

    Raises:
        Forbidden: they did not agree, or another person than `expected` (a user's id) has signed in.
        Unavailable: nobody came in time, or the server is away.
    """
    endpoints = discovered(http, server)
    tokens = sign_in.signed_in(http, endpoints, wish)
    login = _introduced(http, server, tokens)
    if expected and login.user_id != expected:
        sign_in.revoked(http, endpoints, tokens.refresh)
        raise Forbidden(f"{login.email} has signed in, another person than before; `mcpist login {server}` changes it")
    with logins.locked(server):
        before = logins.find(server)
        logins.put(login)
    if before is not None:
        sign_in.revoked(http, endpoints, before.tokens.refresh)
    return login


def end(http: Http, logins: Logins, login: Login) -> bool:
    """Forget a login, and end it at the server; whether that is sure.

    Raises:
        Unavailable: the server is away. The login is forgotten here all the same.
    """
    with logins.locked(login.server):
        logins.remove(login.server)
        endpoints: Endpoints = discovered(http, login.server)
        return sign_in.revoked(http, endpoints, login.tokens.refresh)


def _introduced(http: Http, server: str, tokens: Tokens) -> Login:
    """Whose tokens they are."""
    answer: Answer = http.send("GET", server + ME, bearer=tokens.access)
    if answer.status != 200:
        raise problem_of(answer)
    said = answer.json()
    return Login(server, str(said["id"]), str(said["email"]), str(said["tenant"]["slug"]), tokens)
