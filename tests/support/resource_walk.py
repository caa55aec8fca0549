"""What every resource of a vendor's module goes through, with what its walk over the tools puts into the vendor.

    class TestEveryResource(ResourceWalk):
        walk = TestEveryTool()

        def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
            return {"page": {"id": calls["get_page"]["page_id"]}}

The file has the fixtures `app` and `vendor` (tests/support/module_app.py). A resource without variables' values fails.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from modules.kit import Resource
from modules.kit.resource_changes import expand_uri
from modules.kit.untrusted import UNTRUSTED
from tests.support.mcp_client import Answer
from tests.support.module_app import ModuleApp
from tests.support.product import Person
from tests.support.tool_calls import HTML, STRANGER, Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal, VendorReply

_UNKNOWN = "made-up \x01"
"""No id, name or path of any vendor's."""


class ResourceWalk:
    """`walk` is that over the tools, whose world and words it shares. `secret` stands in all that is read, by default
    that of the walk. `typed` are words that complete a variable, by `variable` or `resource.variable`."""

    walk: ClassVar[ToolWalk]
    secret: ClassVar[str] = ""
    typed: ClassVar[Mapping[str, str]] = {}

    def furnish(self, vendor: Any) -> Mapping[str, Mapping[str, str]]:
        """Put what is read into the vendor, anew; values of the variables, by resource."""
        calls = self.walk.furnish(vendor)
        self.prepare(vendor)
        return self.attach(calls)

    def prepare(self, vendor: Any) -> None:
        """Put into the vendor what the walk over the tools does not need."""

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        """Values of the variables, by resource."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test a resource."""
        if "resource" in metafunc.fixturenames:
            metafunc.parametrize("resource", self.walk.module.resources, ids=lambda one: one.name)

    async def read(self, app: ModuleApp, person: Person, uri: str) -> Answer:
        """Read a resource as somebody."""
        answer = await app.node.post(person.token, "resources/read", {"uri": uri})
        assert b"failed inside MCPist" not in answer.body, answer.body
        assert STRANGER.encode() not in answer.body
        return answer

    async def test_it_is_read_by_each_of_its_uris(self, app: ModuleApp, vendor: Any, resource: Resource) -> None:
        values = self.furnish(vendor)[resource.name]
        before, wrong, texts = len(vendor.seen), len(vendor.wrong), set[str]()
        for template in resource.uris:
            uri = expand_uri(template, values)
            (content,) = (await self.read(app, app.ada, uri)).result["contents"]
            assert content["uri"] == uri
            assert content["mimeType"].partition("/")[0] == resource.mime_type.partition("/")[0]
            assert content["_meta"] == {"mcpist/untrusted": UNTRUSTED}
            assert re.search(self.secret or self.walk.secret, content["text"]), content["text"]
            texts.add(content["text"])
        assert len(texts) == 1
        assert vendor.wrong[wrong:] == []
        assert vendor.seen[before:]
        for request in vendor.seen[before:]:
            assert request.startswith("GET ") or re.search(self.walk.reads, request), request

    async def test_a_refusal_is_told_in_our_words(self, app: ModuleApp, vendor: Any, resource: Resource) -> None:
        uri = expand_uri(resource.uris[0], self.furnish(vendor)[resource.name])
        for refusal in (*(self.walk.build_refusal(vendor, status) for status in (403, 404, 500)), HTML):
            answer = await self._read_while(app, vendor, uri, refusal)
            error = answer.message["error"]
            assert error["data"] == {"uri": uri}
            assert len(error["message"]) > 20

    async def test_what_is_no_name_is_not_sent(self, app: ModuleApp, vendor: Any, resource: Resource) -> None:
        values = self.furnish(vendor)[resource.name]
        before = len(vendor.seen)
        for name in values:
            answer = await self.read(app, app.ada, expand_uri(resource.uris[0], {**values, name: _UNKNOWN}))
            assert "error" in answer.message
            assert vendor.seen[before:] == []

    async def test_another_account_sees_nothing(self, app: ModuleApp, vendor: Any) -> None:
        self.walk.furnish(vendor)
        await app.reconnect(app.eve, self.walk.make_keys(vendor)["stranger"], vendor)
        attached = self.furnish(vendor)
        for resource in self.walk.module.resources:
            answer = await self.read(app, app.eve, expand_uri(resource.uris[0], attached[resource.name]))
            assert not re.search(self.secret or self.walk.secret, answer.body.decode()), resource.name
        await app.reconnect(app.eve, self.walk.eves, vendor)

    async def test_its_variables_are_completed_by_one_request(
        self, app: ModuleApp, vendor: Any, resource: Resource
    ) -> None:
        values = self.furnish(vendor)[resource.name]
        assert set(resource.complete) == set(values), "a person cannot know what to type"
        for name, value in values.items():
            others = {other: text for other, text in values.items() if other != name}
            for known in (others, {}):
                before = len(vendor.seen)
                found = await self._complete(app, vendor, resource, name, "", known)
                assert len(vendor.seen) - before <= 1, vendor.seen[before:]
                assert len(found) == len(set(found)) <= 100
                assert value in found or known != others, (name, found)
            words = self.typed.get(f"{resource.name}.{name}", self.typed.get(name, value[:3]))
            assert value in await self._complete(app, vendor, resource, name, words, others)
            refused = await self._complete(app, vendor, resource, name, "", others, HTML)
            assert refused == []

    async def _read_while(self, app: ModuleApp, vendor: Any, uri: str, reply: VendorReply | VendorRefusal) -> Answer:
        self.walk.queue(vendor, [reply] * 8)
        answer = await self.read(app, app.ada, uri)
        self.walk.queue(vendor, ())
        return answer

    async def _complete(
        self,
        app: ModuleApp,
        vendor: Any,
        resource: Resource,
        name: str,
        typed: str,
        known: Mapping[str, str],
        reply: VendorReply | None = None,
    ) -> Sequence[str]:
        self.walk.queue(vendor, [reply] * 5 if reply else ())
        answer = await app.node.post(
            app.ada.token,
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": resource.uris[0]},
                "argument": {"name": name, "value": typed},
                "context": {"arguments": dict(known)},
            },
        )
        self.walk.queue(vendor, ())
        return answer.result["completion"]["values"]
