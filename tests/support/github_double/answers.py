"""GitHub's answers: what is known of a thing; the description adds whatever else it requires."""

import base64
import difflib
from typing import Any
from urllib.parse import quote

from tests.support.github_double.call import Call
from tests.support.github_double.world import (
    Blob,
    Commit,
    Executable,
    Issue,
    Pull,
    Repository,
    Review,
    Run,
    Submodule,
    Symlink,
    blob_sha,
)

HTML = "https://github.test"
MOST_INLINE = 1_000_000


def user(login: str | None) -> Any:
    """An account; None for one that was deleted."""
    if login is None:
        return None
    return {"login": login, "type": "User", "html_url": f"{HTML}/{login}"}


def repository(call: Call, one: Repository, schema: str = "repository", **more: Any) -> Any:
    known = {
        "id": one.id, "name": one.name, "full_name": one.full_name, "owner": user(one.owner), "private": one.private,
        "description": one.description, "default_branch": one.default_branch, "archived": one.archived,
        "html_url": f"{HTML}/{one.full_name}", "url": f"{call.root}/repos/{one.full_name}", "pushed_at": one.created,
    }  # fmt: skip
    return call.fill(schema, {**known, **more})


def commit(call: Call, one: Commit, **more: Any) -> Any:
    person = {"name": one.author.title(), "email": f"{one.author}@mail.test", "date": one.at}
    known = {
        "sha": one.sha, "author": user(one.author), "committer": user(one.author),
        "commit": {"message": one.message, "author": person, "committer": person},
        "parents": [{"sha": sha, "url": f"{call.root}/{sha}"} for sha in one.parents],
    }  # fmt: skip
    return call.fill("commit", {**known, **more})


def changed_files(call: Call, before: Commit | None, after: Commit) -> list[Any]:
    """The differences between two trees, as GitHub's diff entries."""
    old = before.tree if before else {}
    paths = sorted(path for path in old.keys() | after.tree.keys() if old.get(path) != after.tree.get(path))
    return [_diff(call, path, old.get(path), after.tree.get(path)) for path in paths]


def _diff(call: Call, path: str, old: Blob | None, new: Blob | None) -> Any:
    lines = [*difflib.unified_diff(split_lines(old), split_lines(new), lineterm="")][2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    status = "added" if old is None else "removed" if new is None else "modified"
    known = {
        "filename": path, "status": status, "additions": added, "deletions": removed, "changes": added + removed,
        "sha": blob_sha(new if new is not None else old or b""),
    }  # fmt: skip
    return call.fill("diff-entry", {**known, "patch": "\n".join(lines)} if lines else known)


def split_lines(content: Blob | None) -> list[str]:
    """The lines of a text file; none of another one."""
    return (
        content.decode("utf-8", "replace").splitlines() if isinstance(content, bytes) and b"\0" not in content else []
    )


def content(call: Call, path: str, blob: Blob) -> Any:
    """One file with its content, or what a symlink or a submodule points at."""
    known: dict[str, Any] = {"name": path.rsplit("/", 1)[-1], "path": path, "sha": blob_sha(blob), "size": 0}
    match blob:
        case Symlink():
            return call.fill("content-symlink", {**known, "type": "symlink", "target": blob.target})
        case Submodule():
            return call.fill("content-submodule", {**known, "type": "submodule", "submodule_git_url": blob.url})
        case _:
            inline = len(blob) <= MOST_INLINE
            text = base64.encodebytes(blob).decode() if inline else ""
            known |= {"size": len(blob), "content": text, "encoding": "base64" if inline else "none"}
            known["html_url"] = (
                f"{HTML}/{call.repository().full_name}/blob/{call.query.get('ref', 'HEAD')}/{quote(path)}"
            )
            return call.fill("content-file", {**known, "type": "file"})


def entry(path: str, blob: Blob | None) -> Any:
    """A line of a folder; None stands for a folder in it."""
    kind = {Symlink: "symlink", Submodule: "submodule", bytes: "file", Executable: "file"}.get(type(blob), "dir")
    size = len(blob) if isinstance(blob, bytes) else 0
    sha = blob_sha(blob) if blob is not None else "0" * 40
    return {"name": path.rsplit("/", 1)[-1], "path": path, "type": kind, "size": size, "sha": sha}


def issue(call: Call, one: Issue, home: Repository, schema: str = "issue", **more: Any) -> Any:
    known: dict[str, Any] = {
        "id": one.id, "number": one.number, "title": one.title, "state": one.state, "state_reason": one.state_reason,
        "user": user(one.user), "body": one.body, "comments": len(one.comments),
        "labels": [{"id": 1, "name": name, "color": "ffffff", "default": False} for name in one.labels],
        "assignees": [user(login) for login in one.assignees], "created_at": one.created, "updated_at": one.updated,
        "html_url": f"{HTML}/{home.full_name}/issues/{one.number}",
        "repository_url": f"{call.root}/repos/{home.full_name}",
    }  # fmt: skip
    if one.pull:
        known["pull_request"] = {"url": f"{call.root}/repos/{home.full_name}/pulls/{one.number}"}
    if one.body is None and schema == "issue-search-result-item":
        del known["body"]  # the description allows no null there
    return call.fill(schema, {**known, **more})


def pull(call: Call, one: Issue, home: Repository, schema: str = "pull-request") -> Any:
    assert one.pull is not None
    head, base = home.resolve(one.pull.head), home.resolve(one.pull.base)
    known: dict[str, Any] = {
        "node_id": f"PR_{one.id}", "number": one.number, "title": one.title, "state": one.state,
        "user": user(one.user), "body": one.body, "head": _end(call, home, one.pull.head, head),
        "base": _end(call, home, one.pull.base, base),
        "draft": one.pull.draft, "created_at": one.created, "updated_at": one.updated,
        "labels": [{"id": 1, "name": name, "color": "ffffff", "default": False} for name in one.labels],
        "html_url": f"{HTML}/{home.full_name}/pull/{one.number}",
    }  # fmt: skip
    if schema == "pull-request":
        known |= _whole(call, one.pull, home)
    return call.fill(schema, known)


def _whole(call: Call, one: Pull, home: Repository) -> dict[str, Any]:
    head, base = home.resolve(one.head), home.resolve(one.base)
    assert head is not None
    files = changed_files(call, base, head)
    able = mergeable(one, home)
    return {
        "merged": one.merged is not None, "mergeable": able, "changed_files": len(files),
        "mergeable_state": "draft" if one.draft else "clean" if able else "dirty", "commits": len(ahead(one, home)),
        "additions": sum(file["additions"] for file in files), "deletions": sum(file["deletions"] for file in files),
    }  # fmt: skip


def _end(call: Call, home: Repository, branch: str, tip: Commit | None) -> Any:
    label = f"{home.owner}:{branch}"
    known = {"label": label, "ref": branch, "sha": tip.sha if tip else "0" * 40, "user": user(home.owner)}
    return {**known, "repo": repository(call, home)}


def ahead(one: Pull, home: Repository) -> list[Commit]:
    """The commits of head that base lacks."""
    head, base = home.resolve(one.head), home.resolve(one.base)
    assert head is not None
    known = {commit.sha for commit in home.history(base)} if base else set[str]()
    return [commit for commit in home.history(head) if commit.sha not in known]


def mergeable(one: Pull, home: Repository) -> bool:
    """Whether no file was changed on both sides since they parted."""
    head, base = home.resolve(one.head), home.resolve(one.base)
    assert head is not None
    assert base is not None
    theirs = {commit.sha for commit in home.history(head)}
    parted = next((commit.tree for commit in home.history(base) if commit.sha in theirs), {})
    return not {
        path
        for path in head.tree.keys() | base.tree.keys()
        if head.tree.get(path) != parted.get(path) != base.tree.get(path) and head.tree.get(path) != base.tree.get(path)
    }


def review(call: Call, one: Review) -> Any:
    known = {"id": one.id, "user": user(one.user), "body": one.body, "state": one.state, "commit_id": one.commit}
    links = {"html": {"href": HTML}, "pull_request": {"href": HTML}}
    return call.fill("pull-request-review", {**known, "submitted_at": one.at, "_links": links})


def run(call: Call, one: Run, home: Repository) -> Any:
    where = repository(call, home, "minimal-repository")
    known = {
        "id": one.id, "name": "CI", "display_title": one.title, "event": one.event, "status": one.status,
        "conclusion": one.conclusion, "head_branch": one.branch, "head_sha": one.sha, "actor": user(one.actor),
        "created_at": one.at, "repository": where, "head_repository": where, "html_url": f"{HTML}/runs/{one.id}",
    }  # fmt: skip
    return call.fill("workflow-run", known)
