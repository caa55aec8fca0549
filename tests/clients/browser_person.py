"""A person whose browser needs no screen: follows links, fills in our forms, and comes back to a client."""

import html
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import httpx2

_FORM = re.compile(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
_GOES_ON = re.compile(r'<meta http-equiv="refresh" content="0; url=([^"]*)">')
MOST_STEPS = 12


@dataclass
class BrowserPerson:
    """Signs in by `link`, once, and agrees to what is asked. `asked` are the consent pages that were seen."""

    issuer: str
    link: str
    browser: httpx2.AsyncClient
    asked: list[str] = field(default_factory=list)

    async def sign_in(self) -> None:
        """Use up the link."""
        page = await self.browser.get(self.link)
        await self._submit(page, "/sign-in/link")

    async def agree(self, url: str, decision: str = "allow") -> dict[str, str]:
        """Go where a client sends the browser; the parameters that the client gets."""
        return dict(parse_qsl(urlsplit(await self.way_back(url, decision)).query))

    async def way_back(self, url: str, decision: str = "allow") -> str:
        """Go where a client sends the browser; the URL by which it comes back to the client."""
        answer = await self.browser.get(url)
        for _ in range(MOST_STEPS):
            target = self._target(answer)
            if target is None:
                answer = await self._next(answer, decision)
            elif target.startswith(self.issuer):
                answer = await self.browser.get(target)
            else:
                return target
        raise AssertionError("the browser was sent round and round")

    def _target(self, answer: httpx2.Response) -> str | None:
        if answer.is_redirect:
            return str(answer.url.join(answer.headers["location"]))
        found = _GOES_ON.search(answer.text)
        return str(answer.url.join(html.unescape(found[1]))) if found else None

    async def _next(self, answer: httpx2.Response, decision: str) -> httpx2.Response:
        assert answer.status_code == 200, (answer.status_code, answer.text[:2000])
        self.asked.append(answer.text)
        return await self._submit(answer, "/oauth/authorize", decision=decision)

    async def _submit(self, page: httpx2.Response, action: str, **pressed: str) -> httpx2.Response:
        forms = {html.unescape(found[0]): found[1] for found in _FORM.findall(page.text)}
        assert action in forms, (action, page.status_code, page.text[:2000])
        fields = {name: html.unescape(value) for name, value in _FIELD.findall(forms[action])}
        headers = {"Origin": self.issuer, "Sec-Fetch-Site": "same-origin"}
        return await self.browser.post(self.issuer + action, data={**fields, **pressed}, headers=headers)
