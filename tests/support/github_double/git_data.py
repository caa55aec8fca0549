"""Git's own objects and refs, the trees of repositories, and diffs."""

import base64
import binascii
import difflib
import hashlib
from collections.abc import Mapping
from typing import Any

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply
from tests.support.github_double.world import Blob, Commit, Executable, Repository, Submodule, Symlink, blob_sha

DIFF = "application/vnd.github.diff"
MODES = {Symlink: "120000", Submodule: "160000", Executable: "100755", bytes: "100644"}
Tree = Mapping[str, Blob]


def ref(call: Call) -> Reply:
    home = call.repository()
    if not home.commits:
        raise Refused(409, "Git Repository is empty.")
    name = call.values["ref"].removeprefix("heads/")
    if name not in home.branches:
        raise Refused(404, "Not Found")
    return Reply(200, _ref(call, home, name))


def _ref(call: Call, home: Repository, name: str) -> Any:
    return call.fill("git-ref", {"ref": f"refs/heads/{name}", "object": {"type": "commit", "sha": home.branches[name]}})


def move_ref(call: Call) -> Reply:
    home, name = call.writable(), call.values["ref"].removeprefix("heads/")
    commit = home.commits.get(call.body["sha"])
    if name not in home.branches:
        raise Refused(422, "Reference does not exist")
    if commit is None:
        raise Refused(422, "Object does not exist")
    if name in home.protected:
        raise Refused(422, "Repository rule violations found\n\nChanges must be made through a pull request.")
    if not call.body.get("force") and home.branches[name] not in {one.sha for one in home.history(commit)}:
        raise Refused(422, "Update is not a fast forward")
    home.branches[name] = commit.sha
    return Reply(200, _ref(call, home, name))


def delete_ref(call: Call) -> Reply:
    home, name = call.writable(), call.values["ref"].removeprefix("heads/")
    if name not in home.branches:
        raise Refused(422, "Reference does not exist")
    if name in home.protected:
        raise Refused(422, "Cannot delete this protected branch")
    del home.branches[name]
    for one in home.issues.values():
        if one.pull and one.pull.head == name and one.state == "open":
            one.state = "closed"
    return Reply(204, text="")


def commit(call: Call) -> Reply:
    found = call.repository().commits.get(call.values["commit_sha"])
    if found is None:
        raise Refused(404, "Not Found")
    return Reply(200, _commit(call, found))


def _commit(call: Call, one: Commit) -> Any:
    tree = {"sha": tree_sha(one.tree), "url": call.root}
    return call.fill("git-commit", {"sha": one.sha, "message": one.message, "tree": tree})


def new_commit(call: Call) -> Reply:
    home = call.writable()
    tree = _find_tree(home, call.body["tree"])
    if tree is None or any(parent not in home.commits for parent in call.body["parents"]):
        raise Refused(422, "Tree SHA does not exist")
    at = call.world.now()
    sha = hashlib.sha1(f"{call.body['tree']}{at}".encode()).hexdigest()
    made = Commit(sha, call.body["message"], call.token.login, at, tuple(call.body["parents"]), tree)
    home.commits[sha] = made
    return Reply(201, _commit(call, made))


def new_blob(call: Call) -> Reply:
    home = call.writable()
    try:
        content = base64.b64decode(call.body["content"], validate=True)
    except binascii.Error:
        raise Refused(422, "content is not valid Base64") from None
    home.blobs[blob_sha(content)] = content
    return Reply(201, call.fill("short-blob", {"sha": blob_sha(content), "url": call.root}))


def new_tree(call: Call) -> Reply:
    home = call.writable()
    before = _find_tree(home, call.body.get("base_tree", ""))
    if before is None:
        raise Refused(404, "Not Found")
    tree = dict(before)
    for entry in call.body["tree"]:
        path = entry["path"]
        if entry.get("sha", "") is None:
            if path not in tree:
                raise Refused(422, "GitRPC::BadObjectState")
            del tree[path]
            continue
        content = entry["content"].encode() if "content" in entry else home.blobs.get(entry["sha"])
        if content is None:
            raise Refused(422, "tree.sha is not a valid blob")
        tree[path] = Executable(content) if entry["mode"] == MODES[Executable] else content
    home.trees[tree_sha(tree)] = tree
    return Reply(201, _tree(call, tree, recursive=False))


def tree(call: Call) -> Reply:
    home = call.repository()
    if not home.commits:
        raise Refused(409, "Git Repository is empty.")
    found = home.resolve(call.values["tree_sha"])
    content = found.tree if found else _find_tree(home, call.values["tree_sha"])
    if content is None:
        raise Refused(404, "Not Found")
    return Reply(200, _tree(call, content, recursive="recursive" in call.query))


def _tree(call: Call, content: Tree, *, recursive: bool) -> Any:
    entries = [
        {"path": path, "mode": "040000", "type": "tree", "sha": tree_sha(_below(content, path))}
        for path in _folders(content)
    ]
    for path, blob in content.items():
        kind = "commit" if isinstance(blob, Submodule) else "blob"
        entries.append({"path": path, "mode": MODES[type(blob)], "type": kind, "sha": blob_sha(blob)})
    shown = [entry for entry in sorted(entries, key=lambda one: one["path"]) if recursive or "/" not in entry["path"]]
    is_huge = call.repository().is_huge
    shown = shown[:-1] if is_huge else shown
    return call.fill("git-tree", {"sha": tree_sha(content), "truncated": is_huge, "tree": shown})


def _folders(content: Tree) -> set[str]:
    return {path[:at] for path in content for at, sign in enumerate(path) if sign == "/"}


def tree_sha(content: Tree) -> str:
    """The SHA of a folder: another for every other content."""
    lines = [f"{path} {MODES[type(blob)]} {blob_sha(blob)}" for path, blob in sorted(content.items())]
    return hashlib.sha1("\n".join(lines).encode()).hexdigest()


def _below(content: Tree, folder: str) -> dict[str, Blob]:
    return {path[len(folder) + 1 :]: blob for path, blob in content.items() if path.startswith(f"{folder}/")}


def _find_tree(home: Repository, sha: str) -> Tree | None:
    for whole in (*(one.tree for one in home.commits.values()), *home.trees.values()):
        for content in (whole, *(_below(whole, folder) for folder in _folders(whole))):
            if tree_sha(content) == sha:
                return content
    return None


def compare(call: Call) -> Reply:
    home = call.repository()
    base, _, head = call.values["basehead"].partition("...")
    old, new = home.resolve(base), home.resolve(head)
    if old is None or new is None:
        raise Refused(404, "Not Found")
    assert call.headers.get("Accept") == DIFF, "no tool asks for the rest"
    return diff_reply(old.tree, new.tree)


def diff_reply(old: Tree, new: Tree) -> Reply:
    """A diff as git writes it."""
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return Reply(200, text="".join(_diff(path, old.get(path), new.get(path)) for path in paths))


def _diff(path: str, old: Blob | None, new: Blob | None) -> str:
    lines = [*difflib.unified_diff(answers.split_lines(old), answers.split_lines(new), lineterm="")][2:]
    head = [f"diff --git {_quote(f'a/{path}')} {_quote(f'b/{path}')}"]
    if old is None:
        head.append("new file mode 100644")
    if new is None:
        head.append("deleted file mode 100644")
    if lines:
        before = "/dev/null" if old is None else _quote(f"a/{path}")
        after = "/dev/null" if new is None else _quote(f"b/{path}")
        head += [f"--- {before}", f"+++ {after}"]
    return "\n".join([*head, *lines]) + "\n"


def _quote(name: str) -> str:
    """A name in C style where it has other than printable ASCII characters (git-config(1), core.quotePath)."""
    if name.isascii() and name.isprintable() and not set(name) & set('"\\'):
        return name
    return '"' + "".join(_escape(byte) for byte in name.encode()) + '"'


def _escape(byte: int) -> str:
    letter = chr(byte)
    return f"\\{letter}" if letter in '"\\' else letter if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


ROUTES = {
    ("get", "/repos/{owner}/{repo}/git/ref/{ref}"): ref,
    ("patch", "/repos/{owner}/{repo}/git/refs/{ref}"): move_ref,
    ("delete", "/repos/{owner}/{repo}/git/refs/{ref}"): delete_ref,
    ("get", "/repos/{owner}/{repo}/git/commits/{commit_sha}"): commit,
    ("post", "/repos/{owner}/{repo}/git/commits"): new_commit,
    ("post", "/repos/{owner}/{repo}/git/blobs"): new_blob,
    ("post", "/repos/{owner}/{repo}/git/trees"): new_tree,
    ("get", "/repos/{owner}/{repo}/git/trees/{tree_sha}"): tree,
    ("get", "/repos/{owner}/{repo}/compare/{basehead}"): compare,
}
