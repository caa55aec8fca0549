"""Repositories, commits, branches, runs and files."""

import base64
import binascii
from dataclasses import replace
from typing import Any

from tests.support.github_double import answers, git_data
from tests.support.github_double.call import Call, Refused, Reply, demand_filled
from tests.support.github_double.paging import paged
from tests.support.github_double.world import Blob, Commit, Repository, blob_sha

MOST_ENTRIES = 1000


def repositories(call: Call) -> Reply:
    mine = [one for one in call.world.visible(call.token) if call.token.login in ({one.owner} | one.writers)]
    wanted = call.query.get("visibility", "all")
    found = [one for one in mine if wanted == "all" or one.private == (wanted == "private")]
    if "affiliation" in call.query and "owner" not in call.query["affiliation"].split(","):
        found = [one for one in found if one.owner != call.token.login]
    found.sort(key=lambda one: one.created, reverse=call.query.get("sort", "full_name") != "full_name")
    return paged(call, found, lambda one: answers.repository(call, one))


def repository(call: Call) -> Reply:
    return Reply(200, answers.repository(call, call.repository(), "full-repository"))


def commits(call: Call) -> Reply:
    home = call.repository()
    if not home.commits:
        raise Refused(409, "Git Repository is empty.")
    tip = home.resolve(call.query.get("sha"))
    if tip is None:
        raise Refused(404, "Not Found")
    found = [one for one in home.history(tip) if _wanted(call, home, one)]
    return paged(call, found, lambda one: answers.commit(call, one))


def _wanted(call: Call, home: Repository, one: Commit) -> bool:
    path, author = call.query.get("path"), call.query.get("author", one.author)
    before = home.commits[one.parents[0]].tree if one.parents else {}
    touches = path is None or any(
        name == path or name.startswith(f"{path}/")
        for name in before.keys() | one.tree.keys()
        if before.get(name) != one.tree.get(name)
    )
    return touches and author == one.author and call.query.get("since", "") <= one.at <= call.query.get("until", "9")


def commit(call: Call) -> Reply:
    home = call.repository()
    one = home.resolve(call.values["ref"])
    if one is None:
        raise Refused(422, f"No commit found for SHA: {call.values['ref']}")
    if call.headers.get("Accept") == "application/vnd.github.sha":
        return Reply(200, text=one.sha)
    before = home.commits[one.parents[0]] if one.parents else None
    if call.headers.get("Accept") == git_data.DIFF:
        return git_data.diff_reply(before.tree if before else {}, one.tree)
    listed = paged(call, answers.changed_files(call, before, one), lambda file: file)
    return Reply(200, answers.commit(call, one, files=listed.value), listed.headers)


def branches(call: Call) -> Reply:
    home = call.repository()
    wanted = call.query.get("protected")
    names = [name for name in sorted(home.branches) if wanted in (None, str(name in home.protected).lower())]

    def render(name: str) -> Any:
        tip = {"sha": home.branches[name]}
        return call.fill("short-branch", {"name": name, "commit": tip, "protected": name in home.protected})

    return paged(call, names, render)


def new_ref(call: Call) -> Reply:
    home = call.writable()
    name, sha = call.body["ref"].removeprefix("refs/heads/"), call.body["sha"]
    if not call.body["ref"].startswith("refs/heads/") or _bad_ref(name):
        raise Refused(422, f"Reference name is not well formed: {name}")
    if name in home.branches:
        raise Refused(422, "Reference already exists")
    if sha not in home.commits:
        raise Refused(422, "Object does not exist")
    home.branches[name] = sha
    known = {"ref": f"refs/heads/{name}", "object": {"type": "commit", "sha": sha}}
    return Reply(201, call.fill("git-ref", known))


def _bad_ref(name: str) -> bool:
    """The rules of git-check-ref-format(1), most of them."""
    return not name or ".." in name or name.endswith((".", ".lock", "/")) or bool(set(name) & set(" ~^:?*[\\\x7f"))


def runs(call: Call) -> Reply:
    home, wanted = call.repository(), call.query
    found = [
        one
        for one in reversed(home.runs)
        if wanted.get("branch", one.branch) == one.branch
        and wanted.get("event", one.event) == one.event
        and wanted.get("actor", one.actor) == one.actor
        and wanted.get("status", one.status) in (one.status, one.conclusion)
    ]
    listed = paged(call, found, lambda one: answers.run(call, one, home))
    return Reply(200, {"total_count": len(found), "workflow_runs": listed.value}, listed.headers)


def readme(call: Call) -> Reply:
    """The file that GitHub prefers as a readme; as a file of that path is answered."""
    home = call.repository()
    tip = home.resolve(None) if home.commits else None
    path = next((name for name in tip.tree if name.upper().startswith("README")), None) if tip else None
    if path is None:
        raise Refused(404, "Not Found")
    return contents(replace(call, values={**call.values, "path": path}))


def contents(call: Call) -> Reply:
    home, path = call.repository(), call.values["path"]
    if not home.commits:
        raise Refused(404, "This repository is empty.")
    tip = home.resolve(call.query.get("ref"))
    if tip is None:
        raise Refused(404, f"No commit found for the ref {call.query['ref']}")
    if path in tip.tree:
        blob = tip.tree[path]
        if call.headers.get("Accept") == "application/vnd.github.raw+json" and isinstance(blob, bytes):
            return Reply(200, text=blob.decode("utf-8", "surrogateescape"))
        return Reply(200, answers.content(call, path, blob))
    below = f"{path}/" if path else ""
    inside = {name[len(below) :] for name in tip.tree if name.startswith(below)}
    if not inside:
        raise Refused(404, "Not Found")
    children = sorted({name.split("/", 1)[0] for name in inside})[:MOST_ENTRIES]
    entries = [answers.entry(below + name, tip.tree.get(below + name)) for name in children]
    return Reply(200, call.fill("content-directory", entries))


def put_file(call: Call) -> Reply:
    home, path = _for_change(call)
    demand_filled(call, "Commit", "message")
    try:
        content = base64.b64decode(call.body["content"], validate=True)
    except binascii.Error:
        raise Refused(422, "content is not valid Base64") from None
    branch, old = _old(call, home, path)
    if old is not None and "sha" not in call.body:
        raise Refused(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if "sha" in call.body and (old is None or call.body["sha"] != blob_sha(old)):
        raise Refused(409, f"{path} does not match {call.body['sha']}")
    made = call.world.commit(home, {path: content}, call.body["message"], branch=branch, author=call.token.login)
    return Reply(200 if old is not None else 201, _committed(call, made, path))


def delete_file(call: Call) -> Reply:
    home, path = _for_change(call)
    branch, old = _old(call, home, path)
    if old is None:
        raise Refused(404, "Not Found")
    if call.body["sha"] != blob_sha(old):
        raise Refused(409, f"{path} does not match {call.body['sha']}")
    made = call.world.commit(home, {path: None}, call.body["message"], branch=branch, author=call.token.login)
    return Reply(200, _committed(call, made, None))


def _for_change(call: Call) -> tuple[Repository, str]:
    home, path = call.writable(), call.values["path"]
    scopes = call.token.scopes
    if path.startswith(".github/workflows/") and scopes is not None and "workflow" not in scopes:
        raise Refused(404, "Not Found", headers={"X-Accepted-OAuth-Scopes": "workflow"})
    return home, path


def _old(call: Call, home: Repository, path: str) -> tuple[str, Blob | None]:
    branch = call.body.get("branch") or home.default_branch
    if branch in home.protected:
        raise Refused(409, "Repository rule violations found\n\nChanges must be made through a pull request.")
    if home.commits and branch not in home.branches:
        raise Refused(404, f"Branch {branch} not found")
    tip = home.commits.get(home.branches.get(branch, ""))
    return branch, tip.tree.get(path) if tip else None


def _committed(call: Call, made: Commit, path: str | None) -> Any:
    content = None if path is None else {"path": path, "sha": blob_sha(made.tree[path]), "type": "file"}
    return call.fill("file-commit", {"content": content, "commit": {"sha": made.sha, "message": made.message}})


ROUTES = {
    ("get", "/user/repos"): repositories,
    ("get", "/repos/{owner}/{repo}"): repository,
    ("get", "/repos/{owner}/{repo}/commits"): commits,
    ("get", "/repos/{owner}/{repo}/commits/{ref}"): commit,
    ("get", "/repos/{owner}/{repo}/branches"): branches,
    ("post", "/repos/{owner}/{repo}/git/refs"): new_ref,
    ("get", "/repos/{owner}/{repo}/actions/runs"): runs,
    ("get", "/repos/{owner}/{repo}/contents/{path}"): contents,
    ("get", "/repos/{owner}/{repo}/readme"): readme,
    ("put", "/repos/{owner}/{repo}/contents/{path}"): put_file,
    ("delete", "/repos/{owner}/{repo}/contents/{path}"): delete_file,
}
