"""The module as it is declared: names, hints, scopes, what its schemas cost, and addresses of pages."""

import orjson
import pytest
from pydantic import TypeAdapter, ValidationError

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.confluence import MODULE
from modules.confluence.error_messages import read_rate_limit
from modules.confluence.parameters import CommentId, PageId, SpaceName
from modules.kit import RateLimit, VendorAnswer
from tests.support.confluence_double import ROUTES, load_description
from tests.support.confluence_double.world import encode_tiny
from tests.support.tokens import tokens

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES = (True, False, False), (False, False, False), (False, True, True)
HINTS = {
    **dict.fromkeys(
        ("search", "list_spaces", "list_pages", "get_page", "get_page_children", "list_versions", "list_comments",
         "list_replies", "get_comment", "list_labels", "list_attachments"), READS),
    **dict.fromkeys(("create_page", "add_comment"), ADDS),
    **dict.fromkeys(
        ("delete_page", "update_comment", "delete_comment", "remove_label"), CHANGES),
    "update_page": (False, True, False),  # what is appended twice is there twice
    "add_labels": (False, False, True),
}  # fmt: skip
# o200k tokens of name, description and parameters as a client would list them. Raise one only with a reason.
MOST_TOKENS = 290  # update_page: three ways to change a body
MOST_ON_AVERAGE = 115


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_scopes_are_the_least_and_the_providers() -> None:
    scopes = load_builtin_providers().known["atlassian"].modules["confluence"]
    described = {scope for scope, _ in ROUTES.values()}
    for tool in MODULE.tools:
        is_reading = all(scope.startswith(("read:", "search:")) for scope in tool.scopes)
        assert tool.hints.read_only == is_reading, tool.name
        assert tool.scopes <= described
    reading = {scope for tool in MODULE.tools if tool.hints.read_only for scope in tool.scopes}
    assert set(scopes.reading) == reading
    assert set(scopes.writing) == set(MODULE.scopes) - reading


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["confluence"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(load_description().operations())
    assert MODULE.vendor
    assert ("get", MODULE.vendor.account.path) in ROUTES


PAGES = {
    "98321": "98321",
    " 98321 ": "98321",
    "https://acme.atlassian.net/wiki/spaces/ENG/pages/98321": "98321",
    "https://acme.atlassian.net/wiki/spaces/~5b10/pages/98321/%E8%AD%B0?focusedCommentId=1#Top": "98321",
    "https://acme.atlassian.net/wiki/spaces/ENG/pages/edit-v2/98321": "98321",
    "https://wiki.acme.test/wiki/pages/viewpage.action?pageId=98321&x=1": "98321",
    f"https://acme.atlassian.net/wiki/x/{encode_tiny(98321)}": "98321",
    f"https://acme.atlassian.net/wiki/x/{encode_tiny(123_456_789_012)}": "123456789012",
    # The example of Atlassian's page on how these are made.
    "https://acme.atlassian.net/wiki/x/AQAB": "65537",
    **dict.fromkeys(
        ("", "0", "-1", "1.5", "９８", "Home", "98321/..", "9" * 19, "https://acme.atlassian.net/wiki/spaces/ENG",
         "https://acme.atlassian.net/wiki/x/", "https://acme.atlassian.net/wiki/x/__________w", "javascript:1"), None),
}  # fmt: skip


@pytest.mark.parametrize("text", PAGES)
def test_a_page_is_named_by_its_id_or_an_address(text: str) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(PageId)
    if (known := PAGES[text]) is not None:
        assert adapter.validate_python(text) == known
        return
    with pytest.raises(ValidationError):
        adapter.validate_python(text)


def test_the_end_of_a_limit_is_read_as_a_moment() -> None:
    def read(status: int, **headers: str) -> RateLimit | None:
        return read_rate_limit(VendorAnswer(status, headers, b"", write=False))

    reset = {"x-ratelimit-reset": "2026-01-31T12:01:30Z", "date": "Sat, 31 Jan 2026 12:00:00 GMT"}
    assert read(429, **reset) == RateLimit(90.0)
    for odd in (
        {},
        {"x-ratelimit-reset": "soon"},
        {"x-ratelimit-reset": "2026-01-31T12:01:30"},
        {**reset, "date": "?"},
    ):
        assert read(429, **odd) is None
    assert read(403, **reset) is None


def test_spaces_and_comments_are_named_likewise() -> None:
    space: TypeAdapter[str] = TypeAdapter(SpaceName)
    comment: TypeAdapter[str] = TypeAdapter(CommentId)
    assert space.validate_python("https://acme.atlassian.net/wiki/spaces/ENG/overview") == "ENG"
    assert space.validate_python("~557058:0e1f") == "~557058:0e1f"
    address = "https://acme.atlassian.net/wiki/spaces/ENG/pages/1/T?focusedCommentId=65601#comment-65601"
    assert comment.validate_python(address) == "65601"
    for adapter, wrong in ((space, "Our engineering"), (space, ""), (comment, "first"), (comment, "1/2")):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
