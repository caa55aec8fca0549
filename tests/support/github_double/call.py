"""One request inside the double, and what is answered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.github_double.file_store import FileStore
from tests.support.github_double.world import Repository, Token, World

DOCUMENTATION = "https://docs.github.test/rest"


@dataclass(frozen=True)
class Reply:
    """An answer; `text` instead of JSON where it is set. `cut`: the connection ends in the middle of the text, or
    before the answer where there is none."""

    status: int
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str | None = None
    cut: bool = False


class Refused(Exception):
    """What GitHub says no with."""

    def __init__(
        self, status: int, message: str, errors: Sequence[Any] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        body: dict[str, Any] = {"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}
        if errors:
            body["errors"] = list(errors)
        self.reply = Reply(status, body, headers or {})


@dataclass(frozen=True)
class Call:
    """A request of somebody who is known."""

    world: World
    token: Token
    values: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    fill: Callable[[str, Any], Any]
    root: str
    address: str
    is_reading: bool
    raw: bytes
    store: FileStore

    @property
    def origin(self) -> str:
        return "/".join(self.root.split("/")[:3])

    def repository(self, permission: str = "issues=write") -> Repository:
        """The repository that the path names, as far as the caller may see it; a fine-grained token needs the
        `permission` to change something of it."""
        name = f"{self.values['owner']}/{self.values['repo']}".lower()
        if name in self.world.moved:
            below = "/".join(self.address.split("/")[4:])
            address = f"{self.root}/repositories/{self.world.moved[name].id}/{below}".rstrip("/")
            status = 301 if self.is_reading else 307
            raise Refused(status, "Moved Permanently", headers={"Location": address})
        found = self.world.repositories.get(name)
        if found is None or found not in list(self.world.visible(self.token)):
            raise Refused(404, "Not Found", headers=self._accepted("repo"))
        if not self.is_reading and self.token.scopes is None and not self.token.writes:
            permissions = {"X-Accepted-GitHub-Permissions": permission}
            raise Refused(403, "Resource not accessible by personal access token", headers=permissions)
        return found

    def writable(self, permission: str = "contents=write") -> Repository:
        """The same, if the caller may write to it."""
        found = self.repository(permission)
        if self.token.scopes is not None and not self.token.scopes & {"repo", "public_repo"}:
            raise Refused(404, "Not Found", headers=self._accepted("public_repo, repo"))
        if self.token.login != found.owner and self.token.login not in found.writers:
            raise Refused(403, "You must have push access to this repository")
        if found.archived:
            raise Refused(403, "Repository was archived so is read-only.")
        return found

    def _accepted(self, scopes: str) -> dict[str, str]:
        return {} if self.token.scopes is None else {"X-Accepted-OAuth-Scopes": scopes}


def demand_filled(call: Call, resource: str, *names: str) -> None:
    """Refuse blank texts as GitHub does."""
    missing = [name for name in names if not str(call.body.get(name) or "").strip()]
    if missing:
        errors = [{"resource": resource, "field": name, "code": "missing_field"} for name in missing]
        raise Refused(422, "Validation Failed", errors)
