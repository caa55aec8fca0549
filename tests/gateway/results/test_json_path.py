"""Paths: what leads where, and what is said of those that lead nowhere."""

from typing import Any

import pytest

from gateway.results.json_path import format_path, parse_path, select
from modules.kit import ToolError

VALUE: dict[str, Any] = {
    "issues": [{"key": "A-1", "fields": {"due date": "x", "labels": ["a", "b"]}}, {"key": "A-2", "fields": {}}],
    "none": None,
    "a'b": {'"': 1},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", VALUE),
        ("$", VALUE),
        ("issues[0].key", "A-1"),
        ("$.issues[-1].key", "A-2"),
        ("$['issues'][1]['key']", "A-2"),
        ("issues[*].key", ["A-1", "A-2"]),
        ("issues.*.key", ["A-1", "A-2"]),
        ("issues[0:1].fields.labels[*]", ["a", "b"]),
        ("issues[1:].key", ["A-2"]),
        ("issues[:-1].key", ["A-1"]),
        ("issues[5:9]", []),
        ('issues[0].fields["due date"]', "x"),
        ("issues[0].fields.*[*]", ["a", "b"]),
        ("none", None),
        ('["a\'b"]["\\""]', 1),
    ],
)
def test_a_path_leads_to(path: str, expected: Any) -> None:
    assert select(VALUE, parse_path(path)) == expected
    assert select(VALUE, parse_path(format_path(parse_path(path)))) == expected


@pytest.mark.parametrize(
    "path", ["a b", "issues[", "issues]0", "[--1]", "issues..key", "issues[0]key", "[0", '["a]', ".", "[1:2:3]"]
)
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ToolError, match="not a path"):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("isues", '$ has no .isues; it has: "issues", "none", "a\'b"'),
        ("issues[2]", "issues is an array of 2; there is no [2]"),
        ("issues.key", "issues is an array of 2; there is no .key"),
        ("none.x", "none is null; there is no .x in it"),
        ("issues[0].key[0]", "issues[0].key is a text; there is no [0] in it"),
    ],
)
def test_what_leads_nowhere(path: str, error: str) -> None:
    with pytest.raises(ToolError) as raised:
        select(VALUE, parse_path(path))
    assert str(raised.value) == error
