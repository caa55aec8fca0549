"""The file store that GitHub's links lead to: somebody else's host, which knows links and no credentials."""

import re
import secrets
from dataclasses import dataclass, field

from aiohttp import web

PATH = "/store/"
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


_PIECE = 2**16


@dataclass(frozen=True)
class LargeFile:
    """A file of `size` times the letter x, which is made as it is sent."""

    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> bytes:
        return b"x" * len(range(self.size)[part])


@dataclass
class FileStore:
    """Files by their links. `tells_sizes`: it knows ranges; without, it sends each file whole and says nothing of its
    size. `wrong` lists requests that would have shown a credential to it, `asked` how many bytes each asked for, and
    `sent_bytes` counts those that were sent."""

    files: dict[str, bytes | LargeFile] = field(default_factory=dict[str, bytes | LargeFile])
    wrong: list[str] = field(default_factory=list[str])
    asked: list[int] = field(default_factory=list[int])
    sent_bytes: int = 0
    tells_sizes: bool = True

    def link(self, origin: str, content: bytes | LargeFile) -> str:
        """A link that nobody can guess."""
        name = secrets.token_urlsafe(12)
        self.files[name] = content
        return f"{origin}{PATH}{name}?sig=made%2Fup%3D"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A file, or the part of it that is asked for."""
        if "Authorization" in request.headers or "X-GitHub-Api-Version" in request.headers:
            self.wrong.append("the file store was sent headers that are GitHub's")
        content = self.files.get(request.path.removeprefix(PATH))
        if content is None:
            return web.Response(status=403, text="<Error><Code>AuthenticationFailed</Code></Error>")
        asked = _RANGE.fullmatch(request.headers.get("Range", ""))
        if asked is not None:
            self.asked.append(int(asked[2]) - int(asked[1]) + 1)
        if not self.tells_sizes:
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            for start in range(0, len(content), _PIECE):
                await response.write(content[start : start + _PIECE])
                self.sent_bytes += _PIECE
            await response.write_eof()
            return response
        if asked is None:
            return web.Response(body=content[:])
        first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
        if first >= len(content):
            return web.Response(status=416, headers={"Content-Range": f"bytes */{len(content)}"})
        place = f"bytes {first}-{last}/{len(content)}"
        return web.Response(status=206, body=content[first : last + 1], headers={"Content-Range": place})
