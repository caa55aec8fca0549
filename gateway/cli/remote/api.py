"""The admin API as the command line uses it: one method for each verb, pages put together, errors as ours.

What makes a credential needs a new sign-in: where the API says so, the person is asked for it, once, and the request is
sent again.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from core.errors import Invalid, NotFound, Unavailable
from gateway.cli.output import note
from gateway.cli.remote.access import Access
from gateway.cli.remote.http import Answer, Http
from gateway.cli.remote.problems import SignInAgain, problem_of

PREFIX = "/api/v1"
PAGE = 200

_View = TypeVar("_View")


class Api:
    """One server's admin API. Parts of a path that a person has typed go in as `names`, which are escaped."""

    def __init__(self, http: Http, server: str, access: Access) -> None:
        self._http = http
        self._access = access
        self.server = server

    def get(self, path: str, form: type[_View], *names: str, **query: Any) -> _View:
        """One thing, read as `form`."""
        return _read(self._sent("GET", _path(path, names, query)), form)

    def all(self, path: str, form: type[_View], *names: str, **query: Any) -> Iterator[_View]:
        """Everything that a list has, page by page."""
        cursor: str | None = None
        while True:
            page = self._sent("GET", _path(path, names, {"limit": PAGE, **query, "cursor": cursor})).json()
            for item in page.get("items", ()):
                yield _converted(item, form)
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def make(self, path: str, form: type[_View], body: Mapping[str, Any], *names: str) -> tuple[_View, bool]:
        """Post something; what came of it, and whether it is new."""
        answer = self._sent("POST", _path(path, names, {}), body)
        return _read(answer, form), answer.status == 201

    def change(
        self, method: str, path: str, body: Mapping[str, Any] | None, *names: str, missing: str = "", **query: Any
    ) -> Answer:
        """Put or patch something.

        Raises:
            NotFound: with the text `missing`, if there is one.
        """
        try:
            return self._sent(method, _path(path, names, query), body)
        except NotFound as error:
            raise NotFound(missing or str(error)) from None

    def delete(self, path: str, *names: str, missing: str = "", **query: Any) -> Answer:
        """Delete something; raises as :meth:`change` does."""
        return self.change("DELETE", path, None, *names, missing=missing, **query)

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        try:
            return self._once(method, path, body)
        except SignInAgain:
            bearer = self._access.after_new_sign_in()
            note("You have signed in; going on.")
            answer = self._http.send(method, self.server + path, body=body, bearer=bearer)
        if answer.status >= 400:
            raise problem_of(answer)
        return answer

    def _once(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer:
        bearer = self._access.bearer()
        answer = self._http.send(method, self.server + path, body=body, bearer=bearer)
        if answer.status == 401 and (other := self._access.renewed(bearer)) is not None:
            answer = self._http.send(method, self.server + path, body=body, bearer=other)
        if answer.status >= 400:
            raise problem_of(answer)
        return answer


def _path(path: str, names: tuple[str, ...], query: Mapping[str, Any]) -> str:
    if not all(name.strip(".") for name in names):
        raise Invalid("an id or a name is needed here, and not nothing or dots")  # which lead to another address
    whole = PREFIX + path.format(*(quote(name, safe="") for name in names))
    said = {name: value for name, value in query.items() if value is not None}
    return f"{whole}?{urlencode(said)}" if said else whole


def _read(answer: Answer, form: type[_View]) -> _View:
    return _converted(answer.json(), form)


def _converted(item: Any, form: type[_View]) -> _View:
    try:
        return msgspec.convert(item, form)
    except msgspec.ValidationError:
        raise Unavailable("this MCPist answers in a form that is not known here: is one of the two older?") from None
