"""Releases with their assets, and tags."""

import re
from typing import Any
from urllib.parse import quote

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply
from tests.support.github_double.paging import paged
from tests.support.github_double.parts import Asset
from tests.support.github_double.world import Release, Repository

REPO = "/repos/{owner}/{repo}"
RELEASE = f"{REPO}/releases/{{release_id}}"
ASSET = f"{REPO}/releases/assets/{{asset_id}}"
MOST_NOTES = 125_000
_TAG = re.compile(r"[^\s~^:?*\[\\]{1,250}")


def tags(call: Call) -> Reply:
    home = call.repository()

    def render(name: str) -> Any:
        return call.fill("tag", {"name": name, "commit": {"sha": home.tags[name]}})

    return paged(call, sorted(home.tags, reverse=True), render)


def releases(call: Call) -> Reply:
    home = call.repository()
    found = [one for one in reversed(home.releases) if not one.draft or _may_write(call, home)]
    return paged(call, found, lambda one: render_release(call, one, home))


def release(call: Call) -> Reply:
    home, one = _find(call)
    if one.draft and not _may_write(call, home):
        raise Refused(404, "Not Found")
    return Reply(200, render_release(call, one, home))


def latest_release(call: Call) -> Reply:
    home = call.repository()
    found = [one for one in home.releases if not one.draft and not one.prerelease]
    if not found:
        raise Refused(404, "Not Found")
    return Reply(200, render_release(call, max(found, key=lambda one: one.at), home))


def release_by_tag(call: Call) -> Reply:
    home = call.repository()
    found = next((one for one in home.releases if one.tag == call.values["tag"] and not one.draft), None)
    if found is None:
        raise Refused(404, "Not Found")
    return Reply(200, render_release(call, found, home))


def new_release(call: Call) -> Reply:
    home, given = call.writable(), call.body
    _check(given)
    if any(one.tag == given["tag_name"] and not one.draft for one in home.releases):
        raise _invalid("already_exists", "tag_name")
    commit = home.resolve(given.get("target_commitish"))
    if commit is None:
        raise _invalid("invalid", "target_commitish")
    made = Release(
        given["tag_name"], given.get("name"), given.get("body"), call.world.now(), given.get("draft", False),
        given.get("prerelease", False), call.world.id(),
    )  # fmt: skip
    if given.get("generate_release_notes"):
        made.body = f"{made.body or ''}\n## What's Changed"
    home.releases.append(made)
    if not made.draft:
        home.tags.setdefault(made.tag, commit.sha)
    return Reply(201, render_release(call, made, home))


def change_release(call: Call) -> Reply:
    home, one = _own(call)
    _check(call.body)
    one.tag, one.name = call.body.get("tag_name", one.tag), call.body.get("name", one.name)
    one.body, one.draft = call.body.get("body", one.body), call.body.get("draft", one.draft)
    one.prerelease = call.body.get("prerelease", one.prerelease)
    commit = home.resolve(None)
    if not one.draft and commit is not None:
        home.tags.setdefault(one.tag, commit.sha)
    return Reply(200, render_release(call, one, home))


def _check(given: Any) -> None:
    if not _TAG.fullmatch(given.get("tag_name", "v1")):
        raise Refused(422, "Validation Failed", [{"resource": "Release", "code": "custom", "field": "tag_name"}])
    if len(given.get("body", "")) > MOST_NOTES:
        raise Refused(422, "Validation Failed", ["body is too long (maximum is 125000 characters)"])


def _invalid(code: str, field: str) -> Refused:
    return Refused(422, "Validation Failed", [{"resource": "Release", "code": code, "field": field}])


def delete_release(call: Call) -> Reply:
    home, one = _own(call)
    home.releases.remove(one)
    return Reply(204, text="")


def assets(call: Call) -> Reply:
    home, one = _find(call)
    return paged(call, one.assets, lambda asset: render_asset(call, asset, home))


def asset(call: Call) -> Reply:
    home = call.repository()
    _, one = _find_asset(call, home)
    if call.headers.get("Accept") == "application/octet-stream":
        return Reply(302, headers={"Location": call.store.link(call.origin, one.content)}, text="")
    return Reply(200, render_asset(call, one, home))


def upload_asset(call: Call) -> Reply:
    home, release = _own(call)
    name = re.sub(r"[^A-Za-z0-9_.-]+", ".", call.query["name"]).strip(".")
    if not call.raw:
        raise Refused(400, "Bad Content-Length: ")
    if any(one.name == name for one in release.assets):
        raise Refused(
            422, "Validation Failed", [{"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}]
        )
    made = Asset(call.world.id(), name, call.raw, call.headers["Content-Type"], call.query.get("label"))
    release.assets.append(made)
    return Reply(201, render_asset(call, made, home))


def change_asset(call: Call) -> Reply:
    home = call.writable()
    _, one = _find_asset(call, home)
    one.name, one.label = call.body.get("name", one.name), call.body.get("label", one.label)
    return Reply(200, render_asset(call, one, home))


def delete_asset(call: Call) -> Reply:
    release, one = _find_asset(call, call.writable())
    release.assets.remove(one)
    return Reply(204, text="")


def _find_asset(call: Call, home: Repository) -> tuple[Release, Asset]:
    number = int(call.values["asset_id"])
    found = [(release, one) for release in home.releases for one in release.assets if one.id == number]
    if not found:
        raise Refused(404, "Not Found")
    return found[0]


def render_release(call: Call, one: Release, home: Repository) -> Any:
    """A release as GitHub gives it: a draft has no time of publication."""
    known = {
        "id": one.id, "tag_name": one.tag, "name": one.name, "body": one.body, "draft": one.draft,
        "prerelease": one.prerelease, "author": answers.user(home.owner),
        "published_at": None if one.draft else one.at, "assets": [render_asset(call, it, home) for it in one.assets],
        "html_url": f"{answers.HTML}/{home.full_name}/releases/{one.tag}",
    }  # fmt: skip
    return call.fill("release", known)


def render_asset(call: Call, one: Asset, home: Repository) -> Any:
    """A release's asset as GitHub gives it."""
    known = {
        "id": one.id, "name": one.name, "size": len(one.content), "content_type": one.content_type, "label": one.label,
        "state": one.state, "download_count": one.downloads,
        "updated_at": one.updated,
        "browser_download_url": f"{answers.HTML}/{home.full_name}/releases/download/{quote(one.name)}",
    }  # fmt: skip
    return call.fill("release-asset", known)


def _own(call: Call) -> tuple[Repository, Release]:
    call.writable()
    return _find(call)


def _find(call: Call) -> tuple[Repository, Release]:
    home = call.repository()
    found = next((one for one in home.releases if one.id == int(call.values["release_id"])), None)
    if found is None:
        raise Refused(404, "Not Found")
    return home, found


def _may_write(call: Call, home: Repository) -> bool:
    return call.token.login in {home.owner} | home.writers


ROUTES = {
    ("get", f"{REPO}/tags"): tags,
    ("get", f"{REPO}/releases"): releases,
    ("post", f"{REPO}/releases"): new_release,
    ("get", f"{REPO}/releases/latest"): latest_release,
    ("get", f"{REPO}/releases/tags/{{tag}}"): release_by_tag,
    ("get", RELEASE): release,
    ("patch", RELEASE): change_release,
    ("delete", RELEASE): delete_release,
    ("get", f"{RELEASE}/assets"): assets,
    ("get", ASSET): asset,
    ("patch", ASSET): change_asset,
    ("delete", ASSET): delete_asset,
}
UPLOAD_ROUTES = {("post", f"{RELEASE}/assets"): upload_asset}
"""Those at the host for uploads."""
