"""What people attach to a chat from GitHub: a file, an issue, a pull request and its diff."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field

from modules.github import repository_completions as completions
from modules.github.diffs import fetch_diff
from modules.github.files import VendorFile, build_address, fetch_file
from modules.github.issues import get_issue
from modules.github.pull_requests import get_pull_request
from modules.github.shared import rest_client
from modules.github.shared.encodings import decode_text
from modules.github.shared.parameters import REPO, FilePath, Number, Owner, Repo
from modules.kit import (
    FOR_EVERYONE,
    FOR_MODELS,
    Context,
    ResourceContent,
    ResourceContents,
    ToolError,
    read_json_resource,
    read_long_text_resource,
    resource,
)

MAX_DATA_BYTES = 700_000
"""Of a file that is no text: as base64 it has to fit an answer."""
_TEXT_TYPES = {
    ".md": "text/markdown", ".markdown": "text/markdown", ".html": "text/html", ".css": "text/css",
    ".csv": "text/csv", ".json": "application/json", ".svg": "image/svg+xml",
}  # fmt: skip
_DATA_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".pdf": "application/pdf",
}  # fmt: skip
_NO_README = "there is no such repository, or it has no readme, or the connected account may not see it"


def _build_contents(file: VendorFile) -> ResourceContents:
    """Build the contents of a file: its text, or its bytes where it is none.

    Raises:
        ToolError: it is too large.
    """
    suffix = PurePosixPath(file.path).suffix.lower()
    text = None if file.content is None else decode_text(file.content)
    if text is not None:
        return read_long_text_resource(text.text, mime_type=_TEXT_TYPES.get(suffix, "text/plain"))
    if file.content is None or len(file.content) > MAX_DATA_BYTES:
        raise ToolError(f"the file is too large for a resource: {file.size} bytes; read it in parts with the tools")
    mime_type = _DATA_TYPES.get(suffix, "application/octet-stream")
    return ResourceContents(contents=(ResourceContent(data=file.content, mime_type=mime_type),))


@resource(
    "resource://github/repos/{owner}/{repo}/readme",
    "github://repos/{owner}/{repo}/readme",
    mime_type="text/markdown",
    annotations=FOR_EVERYONE,
    scopes=[REPO],
    title="Readme",
    complete=completions.REPOSITORY,
)
async def readme(context: Context, owner: Owner, repo: Repo) -> ResourceContents:
    """The readme of a repository, on its default branch."""
    address = f"{rest_client.build_repository_path(owner, repo)}/readme"
    return _build_contents(await fetch_file(context, address, missing=_NO_README))


@resource(
    "resource://github/repos/{owner}/{repo}/contents/{+path}",
    "github://repos/{owner}/{repo}/contents/{+path}",
    mime_type="text/plain",
    annotations=FOR_EVERYONE,
    scopes=[REPO],
    title="File",
    complete={**completions.REPOSITORY, "path": completions.complete_path},
)
async def file(
    context: Context, owner: Owner, repo: Repo, path: Annotated[FilePath, Field(description="Path of the file")]
) -> ResourceContents:
    """A file of a repository, on its default branch."""
    return _build_contents(await fetch_file(context, build_address(owner, repo, path)))


@resource(
    "resource://github/repos/{owner}/{repo}/issues/{number}",
    "github://repos/{owner}/{repo}/issues/{number}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[REPO],
    title="Issue",
    complete={**completions.REPOSITORY, "number": completions.complete_issue},
)
async def issue(context: Context, owner: Owner, repo: Repo, number: Number) -> ResourceContents:
    """An issue with its first hundred comments."""
    return read_json_resource(
        await get_issue.run(context, owner=owner, repo=repo, issue_number=number, comments=True, per_page=100)
    )


@resource(
    "resource://github/repos/{owner}/{repo}/pulls/{number}",
    "github://repos/{owner}/{repo}/pulls/{number}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[REPO],
    title="Pull request",
    complete={**completions.REPOSITORY, "number": completions.complete_pull_request},
)
async def pull_request(context: Context, owner: Owner, repo: Repo, number: Number) -> ResourceContents:
    """A pull request with its reviews."""
    return read_json_resource(
        await get_pull_request.run(context, owner=owner, repo=repo, pull_number=number, include="reviews", per_page=100)
    )


@resource(
    "resource://github/repos/{owner}/{repo}/pulls/{number}/diff",
    "github://repos/{owner}/{repo}/pulls/{number}/diff",
    mime_type="text/x-diff",
    annotations=FOR_EVERYONE,
    scopes=[REPO],
    title="Diff of a pull request",
    complete={**completions.REPOSITORY, "number": completions.complete_pull_request},
)
async def pull_request_diff(context: Context, owner: Owner, repo: Repo, number: Number) -> ResourceContents:
    """The unified diff of a pull request."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}", number)
    return read_long_text_resource((await fetch_diff(context, address)).text)


RESOURCES = (readme, file, issue, pull_request, pull_request_diff)
