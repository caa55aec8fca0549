"""The admin API as the command line uses it: one method for each verb, pages put together, errors as ours.

What makes a credential needs a new sign-in: where the API says so, the person is asked for it, once, and the request is
sent again.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from cli.client.api_errors import NewSignInRequired, build_api_error
from cli.client.bearer_auth import BearerAuth, OperatorAuth
from cli.client.server_http import ServerResponse
from cli.output import print_note
from core.directory.account_revocation import RevocationResult
from core.errors import Invalid, NotFound, Unavailable
from core.secret import Secret

API_PREFIX = "/api/v1"
PAGE_SIZE = 200
MAX_DOWNLOAD_BYTES = 64 * 2**30

_View = TypeVar("_View")


class HttpSender(Protocol):
    """Sends one request: over a socket, or to an application in this process."""

    def send(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse: ...

    def download(
        self,
        url: str,
        file: BinaryIO,
        *,
        max_bytes: int,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse: ...


class AdminApiClient:
    """One server's admin API. Parts of a path that a person has typed go in as `names`, which are escaped. `headers`
    go with every request."""

    def __init__(
        self, http: HttpSender, server: str, access: BearerAuth, headers: Mapping[str, str] | None = None
    ) -> None:
        self._http = http
        self._access = access
        self._headers = headers
        self.server = server

    @property
    def is_operator(self) -> bool:
        """Check whether the operator asks, who is no user and names the user for whatever belongs to one."""
        return isinstance(self._access, OperatorAuth)

    def with_headers(self, headers: Mapping[str, str]) -> "AdminApiClient":
        """Return a client of the same server that sends these headers too."""
        return AdminApiClient(self._http, self.server, self._access, {**(self._headers or {}), **headers})

    def get(self, path: str, form: type[_View], *names: str, **query: Any) -> _View:
        """Return one object, decoded as `form`."""
        return _decode_response(self._send("GET", _build_path(path, names, query)), form)

    def iterate(self, path: str, form: type[_View], *names: str, **query: Any) -> Iterator[_View]:
        """Everything that a list has, page by page."""
        cursor: str | None = None
        while True:
            page = self._send("GET", _build_path(path, names, {"limit": PAGE_SIZE, **query, "cursor": cursor})).json()
            for item in page.get("items", ()):
                yield _convert(item, form)
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def create(self, path: str, form: type[_View], body: Mapping[str, Any], *names: str) -> tuple[_View, bool]:
        """Post something; what came of it, and whether it is new."""
        response = self._send("POST", _build_path(path, names, {}), body)
        return _decode_response(response, form), response.status == 201

    def change(
        self, method: str, path: str, body: Mapping[str, Any] | None, *names: str, missing: str = "", **query: Any
    ) -> ServerResponse:
        """Put or patch something.

        Raises:
            NotFound: with the text `missing`, if there is one.
        """
        try:
            return self._send(method, _build_path(path, names, query), body)
        except NotFound as error:
            raise NotFound(missing or str(error)) from None

    def delete(self, path: str, *names: str, missing: str = "", **query: Any) -> ServerResponse:
        """Delete something; raises as :meth:`change` does."""
        return self.change("DELETE", path, None, *names, missing=missing, **query)

    def download(self, path: str, file: BinaryIO, **query: Any) -> None:
        """Write what an address answers to a file, part by part where it comes from a server.

        Raises:
            Unavailable: it stops before its end, or has more than `MAX_DOWNLOAD_BYTES`.
        """
        url, bearer = self.server + _build_path(path, (), query), self._access.get_token()
        fetch = functools.partial(self._http.download, url, file, max_bytes=MAX_DOWNLOAD_BYTES, headers=self._headers)
        response = fetch(bearer=bearer)
        if response.status == 401 and (renewed := self._access.renew_token(bearer)) is not None:
            response = fetch(bearer=renewed)
        if response.status != 200:
            raise build_api_error(response)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> ServerResponse:
        try:
            return self._send_once(method, path, body)
        except NewSignInRequired:
            bearer = self._access.reauthenticate()
            print_note("You have signed in; going on.")
            response = self._http.send(method, self.server + path, body=body, bearer=bearer, headers=self._headers)
        if response.status >= 400:
            raise build_api_error(response)
        return response

    def _send_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> ServerResponse:
        bearer = self._access.get_token()
        response = self._http.send(method, self.server + path, body=body, bearer=bearer, headers=self._headers)
        if response.status == 401 and (renewed := self._access.renew_token(bearer)) is not None:
            response = self._http.send(method, self.server + path, body=body, bearer=renewed, headers=self._headers)
        if response.status >= 400:
            raise build_api_error(response)
        return response


def _build_path(path: str, names: tuple[str, ...], query: Mapping[str, Any]) -> str:
    if not all(name.strip(".") for name in names):
        raise Invalid("an id or a name is needed here, and not nothing or dots")  # which lead to another address
    full_path = API_PREFIX + path.format(*(quote(name, safe="") for name in names))
    parameters = {name: value for name, value in query.items() if value is not None}
    return f"{full_path}?{urlencode(parameters)}" if parameters else full_path


def _decode_response(response: ServerResponse, form: type[_View]) -> _View:
    return _convert(response.json(), form)


def _convert(item: Any, form: type[_View]) -> _View:
    try:
        return msgspec.convert(item, form)
    except msgspec.ValidationError:
        raise Unavailable("this MCPist answers in a form that is not known here: is one of the two older?") from None


def parse_remaining_accounts(response: ServerResponse) -> Sequence[RevocationResult]:
    """Parse the accounts that stay active; none where an older server does not report them."""
    body: Any = response.json() if response.status == 200 else {}
    return [
        RevocationResult(
            str(account["provider"]), str(account["account"]), still_active=True, manage_url=str(account["manage_url"])
        )
        for account in body.get("remaining_accounts", ())
    ]
