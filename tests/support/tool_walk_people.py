"""A part of the walk over the tools of a module: callers who may not, or whose key is dead or limited."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson

from modules.kit import OUTCOME_UNKNOWN, Tool
from tests.support.mcp_client import Answer
from tests.support.module_app import ModuleApp
from tests.support.tool_calls import ToolCalls, is_done
from tests.support.vendor_double import VendorRefusal, VendorReply


class PeopleWalk(ToolCalls):
    """Every tool is called as eve, in a tenant of her own."""

    def make_keys(self, vendor: Any) -> Mapping[str, str]:
        """Make keys that the vendor knows: `powerless` may do nothing, `reader` may read, `stranger` is another
        account's and sees nothing of what the calls ask for."""
        raise NotImplementedError

    async def call_every(self, app: ModuleApp, vendor: Any, secret: str) -> AsyncIterator[tuple[Tool, Answer, bool]]:
        """Call each tool as eve with a key; the answer, and whether a change of hers was made."""
        self.furnish(vendor)
        await app.reconnect(app.eve, secret, vendor)
        for tool in self.module.tools:
            if tool.name in self.local:
                continue
            calls = self.furnish(vendor)
            before = len(self.list_replies(vendor))
            answer = await app.call_as(app.eve, tool.name, **calls[tool.name])
            replies = self.list_replies(vendor)[before:]
            count = len(replies)
            seen, secrets = (list(one)[-count:] if count else [] for one in (vendor.seen, vendor.secrets))
            assert set(secrets) <= {secret}, "her own key, and nobody else's"
            done = [
                one for one, reply in zip(seen, replies, strict=True) if is_done(reply) and self.is_write(tool, one)
            ]
            yield tool, answer, bool(done)
        await app.reconnect(app.eve, self.eves, vendor)

    async def test_without_rights(self, app: ModuleApp, vendor: Any) -> None:
        keys = self.make_keys(vendor)
        async for tool, answer, done in self.call_every(app, vendor, keys["powerless"]):
            if tool.name not in self.free:
                assert answer.failed, tool.name
                assert re.search(self.lacking, answer.text), (tool.name, answer.text)
            assert not done, tool.name
        async for tool, answer, done in self.call_every(app, vendor, keys["reader"]):
            if tool.hints.read_only:
                assert answer.failed == (tool.name in self.beyond), (tool.name, answer.text)
                continue
            assert answer.failed, tool.name
            assert re.search(self.lacking, answer.text), (tool.name, answer.text)
            assert OUTCOME_UNKNOWN not in answer.text
            assert not done, tool.name

    async def test_another_account_sees_nothing(self, app: ModuleApp, vendor: Any) -> None:
        async for tool, answer, done in self.call_every(app, vendor, self.make_keys(vendor)["stranger"]):
            if tool.name in self.own:
                continue
            assert not done, tool.name
            shown = "" if answer.failed else orjson.dumps(answer.value).decode()
            assert not re.search(self.secret, shown), (tool.name, shown)

    async def test_an_expired_credential(self, app: ModuleApp, vendor: Any) -> None:
        async for tool, answer, done in self.call_every(app, vendor, "token-of-last-year"):
            assert answer.failed, tool.name
            assert "connect" in answer.text, (tool.name, answer.text)
            assert not done

    async def test_a_rate_limit_in_the_vendors_form(self, app: ModuleApp, vendor: Any) -> None:
        secret = self.make_keys(vendor)["limited"]
        await app.reconnect(app.eve, secret, vendor)
        calls, asked = self.furnish(vendor), 0
        for tool in self.module.tools:
            if tool.name in self.local:
                continue
            before = len(vendor.seen)
            self.queue(vendor, [self.make_limit(90)] * 3)
            answer = await app.call_as(app.eve, tool.name, **calls[tool.name])
            self.queue(vendor, ())
            asked += len(vendor.seen) - before
            assert answer.failed, tool.name
            assert re.search(self.limited, answer.text), (tool.name, answer.text)
            assert OUTCOME_UNKNOWN not in answer.text
        await app.reconnect(app.eve, self.eves, vendor)
        assert asked <= self.limits, "a limit is remembered, and nothing asked while it holds"

    def make_limit(self, seconds: int) -> VendorReply | VendorRefusal:
        """Make the refusal of too many requests."""
        return VendorReply(429, {}, {"Retry-After": str(seconds)})
