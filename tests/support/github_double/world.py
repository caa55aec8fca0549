"""What GitHub holds, in memory: accounts, tokens, repositories with their commits, issues and pull requests."""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.support.github_double.parts import Asset, Job, LineComment, RepositoryParts

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Symlink:
    target: str


@dataclass(frozen=True)
class Submodule:
    url: str
    sha: str


class Executable(bytes):
    """The content of a file that may be run."""


Blob = bytes | Symlink | Submodule


@dataclass
class Token:
    """A classic token has scopes; a fine-grained one (`scopes` None) may write where `writes` says so."""

    login: str
    scopes: frozenset[str] | None = frozenset({"repo", "workflow", "notifications", "read:user"})
    writes: bool = True
    remaining: int = 5000


@dataclass
class Commit:
    sha: str
    message: str
    author: str
    at: str
    parents: tuple[str, ...]
    tree: Mapping[str, Blob]


@dataclass
class Comment:
    id: int
    user: str | None
    body: str
    at: str


@dataclass
class Issue:
    """An issue, or a pull request where `pull` is set: GitHub counts both together."""

    number: int
    title: str
    user: str | None
    created: str
    updated: str
    body: str | None = None
    state: str = "open"
    state_reason: str | None = None
    labels: list[str] = field(default_factory=list[str])
    assignees: list[str] = field(default_factory=list[str])
    comments: list[Comment] = field(default_factory=list[Comment])
    pull: "Pull | None" = None
    id: int = 0
    milestone: int | None = None
    sub_issues: list[int] = field(default_factory=list[int])


@dataclass
class Review:
    id: int
    user: str
    body: str
    state: str
    commit: str
    at: str


@dataclass
class Pull:
    head: str
    base: str
    draft: bool = False
    merged: str | None = None
    reviews: list[Review] = field(default_factory=list[Review])
    line_comments: list[LineComment] = field(default_factory=list[LineComment])
    reviewers: list[str] = field(default_factory=list[str])
    team_reviewers: list[str] = field(default_factory=list[str])


@dataclass
class Run:
    id: int
    title: str
    branch: str
    sha: str
    event: str
    status: str
    conclusion: str | None
    actor: str
    at: str
    attempt: int = 1
    jobs: list[Job] = field(default_factory=list[Job])


@dataclass
class Release:
    tag: str
    name: str | None
    body: str | None
    at: str
    draft: bool = False
    prerelease: bool = False
    id: int = 1
    assets: list[Asset] = field(default_factory=list[Asset])


@dataclass
class Repository:
    owner: str
    name: str
    id: int
    created: str
    private: bool = False
    description: str | None = None
    archived: bool = False
    has_issues: bool = True
    has_drafts: bool = True
    default_branch: str = "main"
    writers: set[str] = field(default_factory=set[str])
    branches: dict[str, str] = field(default_factory=dict[str, str])
    tags: dict[str, str] = field(default_factory=dict[str, str])
    protected: set[str] = field(default_factory=set[str])
    commits: dict[str, Commit] = field(default_factory=dict[str, Commit])
    issues: dict[int, Issue] = field(default_factory=dict[int, Issue])
    releases: list[Release] = field(default_factory=list[Release])
    runs: list[Run] = field(default_factory=list[Run])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    trees: dict[str, Mapping[str, Blob]] = field(default_factory=dict[str, Mapping[str, Blob]])
    """Those that were made alone, for a commit to come."""
    is_huge: bool = False
    """Whether its trees are shown without their end."""
    parts: RepositoryParts = field(default_factory=RepositoryParts)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def resolve(self, ref: str | None) -> Commit | None:
        """The commit of a branch, a tag or a SHA; of the default branch for None and HEAD."""
        name = self.default_branch if ref in (None, "HEAD") else ref
        assert name is not None
        name = name.removeprefix("refs/").removeprefix("heads/").removeprefix("tags/")
        sha = self.branches.get(name) or self.tags.get(name) or name
        return self.commits.get(sha)

    def history(self, commit: Commit) -> list[Commit]:
        """A commit and its ancestors, newest first."""
        seen: dict[str, Commit] = {}
        waiting = [commit.sha]
        while waiting:
            one = self.commits[waiting.pop()]
            if one.sha not in seen:
                seen[one.sha] = one
                waiting.extend(one.parents)
        return sorted(seen.values(), key=lambda one: one.at, reverse=True)


@dataclass
class Notification:
    id: str
    repository: Repository
    number: int
    title: str
    reason: str
    unread: bool
    at: str


@dataclass
class Event:
    id: str
    type: str
    actor: str
    repository: Repository
    payload: tuple[str, dict[str, object]]
    at: str


class World:
    """Everything, with a clock that ticks a second at each look."""

    def __init__(self) -> None:
        self._clock = itertools.count()
        self._ids = itertools.count(1000)
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[str, Repository] = {}
        self.moved: dict[str, Repository] = {}
        """By the name that a repository had."""
        self.notifications: dict[str, list[Notification]] = {}
        self.events: list[Event] = []
        self.logins: set[str] = set()

    def now(self) -> str:
        return (START + timedelta(seconds=next(self._clock))).strftime("%Y-%m-%dT%H:%M:%SZ")

    def id(self) -> int:
        return next(self._ids)

    def token(self, secret: str, login: str, **more: object) -> Token:
        """A credential for an account, which is made where it is new."""
        self.logins.add(login)
        self.tokens[secret] = Token(login, **more)  # pyright: ignore[reportArgumentType]
        return self.tokens[secret]

    def repository(self, owner: str, name: str, **more: object) -> Repository:
        """A new and empty repository."""
        self.logins.add(owner)
        made = Repository(owner, name, self.id(), self.now(), **more)  # pyright: ignore[reportArgumentType]
        self.repositories[made.full_name.lower()] = made
        return made

    def commit(
        self,
        repository: Repository,
        changes: Mapping[str, Blob | None],
        message: str = "Change",
        *,
        branch: str | None = None,
        author: str | None = None,
        parents: tuple[str, ...] | None = None,
    ) -> Commit:
        """Commit to a branch; None removes a file."""
        name = branch or repository.default_branch
        before = repository.commits.get(repository.branches.get(name, ""))
        tree = dict(before.tree) if before else {}
        for path, content in changes.items():
            if content is None:
                tree.pop(path, None)
            else:
                tree[path] = content
        at = self.now()
        sha = hashlib.sha1(f"{repository.id}{name}{message}{at}".encode()).hexdigest()
        ancestors = parents if parents is not None else (before.sha,) if before else ()
        made = Commit(sha, message, author or repository.owner, at, ancestors, tree)
        repository.commits[sha] = made
        repository.branches[name] = sha
        return made

    def issue(self, repository: Repository, title: str, user: str | None, **more: object) -> Issue:
        """A new issue or pull request."""
        at = self.now()
        number = len(repository.issues) + 1
        more.setdefault("id", self.id())
        made = Issue(number, title, user, at, at, **more)  # pyright: ignore[reportArgumentType]
        repository.issues[number] = made
        return made

    def visible(self, token: Token) -> Iterator[Repository]:
        """The repositories that a token may see."""
        for one in self.repositories.values():
            mine = token.login == one.owner or token.login in one.writers
            if not one.private or (mine and (token.scopes is None or "repo" in token.scopes)):
                yield one


def blob_sha(content: Blob) -> str:
    """The SHA that git gives a file."""
    match content:
        case Submodule():
            return content.sha
        case Symlink():
            data = content.target.encode()
        case _:
            data = content
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
