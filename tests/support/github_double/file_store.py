"""The file store that GitHub's links lead to: somebody else's host, which knows links and no credentials."""

import re
import secrets
from dataclasses import dataclass, field

from aiohttp import web

PATH = "/store/"
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]+)")


@dataclass
class FileStore:
    """Files by their links. `tells_sizes`: it knows ranges; without, it sends each file whole and says nothing of its
    size. `wrong` lists requests that would have shown a credential to it."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    wrong: list[str] = field(default_factory=list[str])
    tells_sizes: bool = True

    def link(self, origin: str, content: bytes) -> str:
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
        if not self.tells_sizes:
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            await response.write(content)
            await response.write_eof()
            return response
        if asked is None:
            return web.Response(body=content)
        first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
        if first >= len(content):
            return web.Response(status=416, headers={"Content-Range": f"bytes */{len(content)}"})
        place = f"bytes {first}-{last}/{len(content)}"
        return web.Response(status=206, body=content[first : last + 1], headers={"Content-Range": place})
