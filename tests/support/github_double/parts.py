"""What a repository holds beside code, issues and pull requests: checks, workflows, labels, milestones, assets."""

from dataclasses import dataclass, field

from tests.support.github_double.file_store import LargeFile


@dataclass
class CheckRun:
    id: int
    name: str
    status: str = "completed"
    conclusion: str | None = "success"
    title: str | None = None
    app: str | None = "github-actions"


@dataclass
class Status:
    context: str
    state: str
    description: str | None = None
    target_url: str | None = None


@dataclass
class Workflow:
    """`inputs` of a workflow_dispatch trigger, each with whether it is required; None where it has no such trigger."""

    id: int
    name: str
    path: str
    state: str = "active"
    inputs: dict[str, bool] | None = None


@dataclass
class Job:
    """`steps` are names and conclusions."""

    id: int
    name: str
    status: str
    conclusion: str | None
    started: str
    completed: str | None
    attempt: int = 1
    steps: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    log: bytes | LargeFile | None = b""


@dataclass
class Label:
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Milestone:
    number: int
    title: str
    state: str = "open"
    description: str | None = None
    due_on: str | None = None


@dataclass
class LineComment:
    """A comment on a line of a pull request; `line` is None once the line has changed."""

    id: int
    user: str | None
    path: str
    line: int | None
    body: str
    at: str
    start_line: int | None = None
    side: str = "RIGHT"
    reply_to: int | None = None
    hunk: str = "@@ -1 +1 @@\n-one\n+two"
    resolved_by: str | None = None


@dataclass
class Asset:
    id: int
    name: str
    content: bytes | LargeFile
    content_type: str = "application/octet-stream"
    label: str | None = None
    downloads: int = 0
    state: str = "uploaded"
    updated: str = "2026-01-01T00:00:00Z"


@dataclass
class RepositoryParts:
    """Check runs and statuses are by SHA, the others by what their addresses have."""

    check_runs: dict[str, list[CheckRun]] = field(default_factory=dict[str, list[CheckRun]])
    statuses: dict[str, list[Status]] = field(default_factory=dict[str, list[Status]])
    workflows: list[Workflow] = field(default_factory=list[Workflow])
    labels: dict[str, Label] = field(default_factory=dict[str, Label])
    milestones: dict[int, Milestone] = field(default_factory=dict[int, Milestone])
