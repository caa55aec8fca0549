"""``POST /rag/documents``: a file becomes a document of the caller (docs/documents.md).

The route is a client of /mcp, with the caller's credential: it asks whether the caller has the tool before it reads a
byte, extracts the text, and calls the tool, so that authentication, limits, sieve, runner and audit are those of every
call (docs/decisions/0153-uploads-are-read-by-a-process-of-their-own.md).
"""

import asyncio
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any

import orjson

from gateway.mcp.errors import ClientDisconnected, HttpRefusal
from gateway.mcp.interfaces import CallerCache
from gateway.mcp.request_body import read_body
from gateway.mcp.request_headers import RequestHeaders
from gateway.tool_routes import (
    Application,
    CollectedAnswer,
    ask_endpoint,
    build_call,
    build_meta_call,
    send_error,
    send_translated,
)
from gateway.uploads.document_extractor import DocumentExtractor
from gateway.uploads.formats import ExtractedText, UnreadableDocument, UnreadableReason, choose_format
from gateway.uploads.upload_form import UploadedFile, parse_upload
from modules.kit.front_matter import read_front_matter

UPLOAD_PATH = "/rag/documents"
MODULE, TOOL = "rag", "index_doc"
MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_BODY_BYTES = MAX_FILE_BYTES + 256 * 1024
"""Of a file and the fields beside it."""
BODY_SECONDS = 120.0
MAX_UPLOADS, MAX_OF_TENANT, MAX_OF_PERSON = 8, 4, 2
"""Uploads in progress of a process, and of each tenant and person in it."""
RETRY_SECONDS = 10
_TOO_LARGE = "A file may have at most 20 MB"
_TEXTS = {
    UnreadableReason.UNSUPPORTED_TYPE: "Files of this type are not read: send Markdown, text, HTML, PDF or DOCX",
    UnreadableReason.WRONG_CONTENT: "The file is not of the type that it says it is",
    UnreadableReason.UNKNOWN_ENCODING: "The encoding of the text is not known; save it as UTF-8",
    UnreadableReason.ENCRYPTED: "The file is encrypted; save it without a password",
    UnreadableReason.DAMAGED: "The file is damaged",
    UnreadableReason.NO_TEXT: "The file has no text; pages that are pictures are not read",
    UnreadableReason.TOO_LONG: "The file has more than 1,000,000 characters; divide it",
    UnreadableReason.TOO_COMPLEX: "The file takes too much time or memory to read; divide or simplify it",
}


class UploadRefusal(HttpRefusal):
    """Ends an upload; `code` is for programs."""

    def __init__(self, status: int, code: str, text: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(status, text, *headers)
        self.code = code


class UploadPlaces:
    """Counts uploads in progress, each of which takes the memory of its file."""

    def __init__(self) -> None:
        self._total = 0
        self._taken: dict[Hashable, int] = {}

    @contextmanager
    def take(self, tenant: Hashable, person: Hashable) -> Generator[None]:
        """Take a place for as long as the block runs.

        Raises:
            UploadRefusal: 503 none is free, 429 the tenant or the person has all that they may have.
        """
        retry = (b"retry-after", b"%d" % RETRY_SECONDS)
        if self._total >= MAX_UPLOADS:
            raise UploadRefusal(503, "unavailable", "Too many files are being read; try again", retry)
        if self._taken.get(tenant, 0) >= MAX_OF_TENANT or self._taken.get(person, 0) >= MAX_OF_PERSON:
            raise UploadRefusal(429, "limit_reached", "Send fewer files at a time", retry)
        self._count(1, tenant, person)
        try:
            yield
        finally:
            self._count(-1, tenant, person)

    def _count(self, change: int, *holders: Hashable) -> None:
        self._total += change
        for holder in holders:
            self._taken[holder] = self._taken.get(holder, 0) + change
            if not self._taken[holder]:
                del self._taken[holder]


class UploadApplication:
    """The ASGI application behind the route; `endpoint` is that of /mcp, and `callers` are those that it knows."""

    def __init__(self, endpoint: Application, callers: CallerCache, extractor: DocumentExtractor) -> None:
        self._endpoint = endpoint
        self._callers = callers
        self._extractor = extractor
        self._places = UploadPlaces()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["method"] not in ("POST", "OPTIONS"):
            await send_error(send, 405, "Send POST", headers=[(b"allow", b"POST, OPTIONS")])
            return
        permitted = await self._ask_permission(scope)
        if scope["method"] == "OPTIONS" or not _is_result(permitted):
            await send_translated(send, permitted)
            return
        try:
            with self._places.take(*self._identify(scope)):
                call = await self._build_call(scope, receive)
                answer = await self._ask(scope, call, receive)
        except ClientDisconnected:
            return
        except HttpRefusal as refusal:
            code = refusal.code if isinstance(refusal, UploadRefusal) else None
            headers = [*permitted.list_passed_headers(), *refusal.headers]
            await send_error(send, refusal.status, refusal.text, code, headers=headers)
            return
        await send_translated(send, answer)

    async def _ask_permission(self, scope: dict[str, Any]) -> CollectedAnswer:
        """Ask whether the caller has the tool; the answer that is no result says why not."""
        asked = {"module": MODULE, "tools": [TOOL], "detail": "names"}
        return await self._ask(scope, build_meta_call("get_module_schema", asked), _wait_for_ever)

    async def _ask(self, scope: dict[str, Any], message: bytes, receive: Callable[[], Any]) -> CollectedAnswer:
        """Send a message to /mcp as the caller."""
        messages = [message]

        async def receive_message() -> dict[str, Any]:
            if messages:
                return {"type": "http.request", "body": messages.pop(), "more_body": False}
            return await receive()

        return await ask_endpoint(self._endpoint, scope, receive_message)

    def _identify(self, scope: dict[str, Any]) -> tuple[Hashable, Hashable]:
        """Identify the tenant and the person whose credential was just verified."""
        headers = RequestHeaders(scope["headers"])
        key = self._callers.compute_key(headers.get_text(b"authorization") or "")
        caller = self._callers.find(key)
        return (key, (key,)) if caller is None else (caller.tenant_id, (caller.tenant_id, caller.user_id))

    async def _build_call(self, scope: dict[str, Any], receive: Any) -> bytes:
        """Build the call that stores what the request brings.

        Raises:
            HttpRefusal: the request or its file cannot be read.
        """
        headers = RequestHeaders(scope["headers"])
        try:
            content = await read_body(receive, headers, MAX_BODY_BYTES, BODY_SECONDS)
        except HttpRefusal as refusal:
            raise (UploadRefusal(413, "too_large", _TOO_LARGE) if refusal.status == 413 else refusal) from None
        file = await parse_upload(content, headers.get_text(b"content-type") or "", scope.get("query_string", b""))
        if len(file.content) > MAX_FILE_BYTES:
            raise UploadRefusal(413, "too_large", _TOO_LARGE)
        path, version = file.get_path(), file.get_expected_version()
        try:
            chosen = choose_format(file.media_type, file.name or path)
            extracted = await self._extractor.extract(file.content, chosen, file.charset)
        except UnreadableDocument as error:
            status = 415 if error.reason is UnreadableReason.UNSUPPORTED_TYPE else 422
            raise UploadRefusal(status, error.reason.value, _TEXTS[error.reason]) from None
        params = {
            "file_path": path,
            "text": extracted.text,
            "title": _choose_title(file, path, extracted),
            "tags": [tag for tag in file.fields.get("tags", ()) if tag] or None,
            "url": file.get_field("url"),
            "collection": file.get_field("collection"),
            "expected_version": version,
        }
        return build_call(MODULE, TOOL, {name: value for name, value in params.items() if value is not None})


async def _wait_for_ever() -> Any:
    """Wait as for a client that sends nothing and stays: the body is not read yet."""
    await asyncio.Event().wait()


def _is_result(answer: CollectedAnswer) -> bool:
    message: Any = orjson.loads(answer.body) if answer.body else {}
    result: dict[str, Any] | None = message.get("result")
    return result is not None and not result.get("isError")


def _choose_title(file: UploadedFile, path: str, extracted: ExtractedText) -> str | None:
    """Choose the title: what the request says, the file's own, or its name; None leaves it to the front matter."""
    given = file.get_field("title")
    if given is not None or read_front_matter(extracted.text).title:
        return given
    name = (file.name or path).rpartition("/")[2]
    return extracted.title or name.rpartition(".")[0] or name


def build_upload_route(endpoint: Application, callers: CallerCache) -> dict[str, UploadApplication]:
    """Build the application of the route, by its path."""
    return {UPLOAD_PATH: UploadApplication(endpoint, callers, DocumentExtractor())}
