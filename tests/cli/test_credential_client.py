"""Which credentials a command tests, by what the API lists: a server that plays the API."""

from collections.abc import Mapping
from typing import Any, BinaryIO
from uuid import UUID

import orjson
import pytest

from cli.client.admin_api import AdminApiClient
from cli.client.bearer_auth import OperatorAuth, StaticTokenAuth
from cli.client.credentials import check_credentials
from cli.client.server_http import ServerResponse
from core.errors import NotFound
from core.secret import Secret

TIME = "2026-01-01T00:00:00Z"
OWN, SHARED = UUID(int=1), UUID(int=2)


def credential(credential_id: UUID, kind: str, owner: str) -> dict[str, Any]:
    return {
        **{"id": str(credential_id), "module": "hub", "type": "api_key", "provider": "", "kind": kind, "owner": owner},
        **{"account": "", "state": "connected", "cause": "", "created_at": TIME, "updated_at": TIME},
        "last_used_at": None,
    }


class Api:
    """Lists a user's own credential and one that a role shares; `tested` are the ids that were tested."""

    def __init__(self, system_role: str, *, limit: int = 10) -> None:
        self.tested: list[str] = []
        self._system_role = system_role
        self._limit = limit

    def send(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        status, answer = self._answer(url.partition("/api/v1")[2].partition("?")[0])
        return ServerResponse(url, status, orjson.dumps(answer))

    def download(
        self,
        url: str,
        file: BinaryIO,
        *,
        max_bytes: int,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        raise AssertionError(f"nothing here downloads {url} of at most {max_bytes} bytes: {file}, {bearer}, {headers}")

    def _answer(self, path: str) -> tuple[int, Any]:
        if path == "/me":
            tenant = {"id": str(UUID(int=3)), "slug": "acme", "name": "Acme"}
            return 200, {
                **{"id": str(UUID(int=4)), "email": "ada@acme.test", "name": "", "system_role": self._system_role},
                **{"roles": [], "tenant": tenant, "scopes": [], "authentication_method": "token"},
                **{"authenticated_at": None, "operator": False},
            }
        if path == "/credentials":
            items = [credential(OWN, "personal", "ada@acme.test"), credential(SHARED, "shared", "team")]
            return 200, {"items": items, "next_cursor": None}
        if len(self.tested) >= self._limit:
            return 429, {"code": "limit_reached", "detail": "too many checks"}
        self.tested.append(path.split("/")[2])
        return 200, {"works": True, "state": "connected", "account": "Ada", "message": "it works"}

    def client(self) -> AdminApiClient:
        auth = OperatorAuth(Secret("x")) if self._system_role == "operator" else StaticTokenAuth(Secret("x"))
        return AdminApiClient(self, "http://127.0.0.1", auth)


@pytest.mark.parametrize(
    ("system_role", "tested"),
    [("user", [OWN]), ("admin", [OWN, SHARED]), ("operator", [OWN, SHARED])],
)
def test_only_what_the_caller_may_test_is_tested(system_role: str, tested: list[UUID]) -> None:
    api = Api(system_role)
    results = check_credentials(api.client(), "hub", None, None)
    assert api.tested == [str(one) for one in tested]
    assert all(one.works for one in results)


def test_the_results_before_a_limit_count() -> None:
    first, second = check_credentials(Api("admin", limit=1).client(), "hub", None, None)
    assert (first.works, second.works) == (True, False)
    assert second.message == "not tested: too many checks"


def test_one_owner_is_named() -> None:
    api = Api("admin")
    check_credentials(api.client(), "hub", None, "team")
    assert api.tested == [str(SHARED)]
    with pytest.raises(NotFound):
        check_credentials(api.client(), "hub", "bob@acme.test", None)
