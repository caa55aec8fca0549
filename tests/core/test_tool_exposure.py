"""How tools are exposed, as text, and united over roles."""

import pytest

from core.errors import Invalid
from core.tool_exposure import (
    META_VIEW,
    ToolExposure,
    View,
    load_exposure_setting,
    normalize_exposure_setting,
    parse_exposure,
    parse_exposure_path,
    parse_exposure_setting,
    unite_exposures,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meta", META_VIEW),
        ("plain", ToolExposure(View.PLAIN)),
        ("plain:github,notion", ToolExposure(View.PLAIN, ("github", "notion"))),
        ("both:jira, github.search_issues,jira", ToolExposure(View.BOTH, ("jira",), ("github.search_issues",))),
    ],
)
def test_a_setting_is_read_and_written(text: str, expected: ToolExposure) -> None:
    assert parse_exposure_setting(text) == load_exposure_setting(text) == expected
    assert parse_exposure_setting(expected.text) == expected
    assert normalize_exposure_setting(text) == expected.text


LONG = ["plain:" + "x" * 64, "plain:" + ",".join(f"m{n}" for n in range(101)), "plain:" + "x," * 1_000]


@pytest.mark.parametrize(
    "text",
    ["", "simple", "Plain", "plain:", "meta:x", "plain:GitHub", "plain:a.b.c", "plain:.x", "plain:a,,b", ":x", *LONG],
)
def test_another_form_is_refused_and_stored_ones_count_as_none(text: str) -> None:
    with pytest.raises(Invalid, match=r"plain:github,notion|modules are names"):
        parse_exposure_setting(text)
    assert load_exposure_setting(text) is None


def test_meta_is_one_value_in_each_form() -> None:
    assert parse_exposure("view=meta&modules=github") is META_VIEW
    assert parse_exposure_path("meta") is META_VIEW
    assert parse_exposure_setting("meta") is META_VIEW
    assert parse_exposure("") is parse_exposure_path("") is None


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([], "meta"),
        (["meta", "meta"], "meta"),
        (["plain:github"], "plain:github"),
        (["plain:notion", "plain:github,jira.search"], "plain:github,notion,jira.search"),
        (["plain:github", "meta"], "both:github"),
        (["both:github", "plain:notion"], "both:github,notion"),
        (["plain:github", "plain"], "plain"),
        (["plain", "meta"], "both"),
    ],
)
def test_the_union_over_roles(roles: list[str], expected: str) -> None:
    exposures = [parse_exposure_setting(text) for text in roles]
    assert unite_exposures(exposures) == unite_exposures(exposures[::-1]) == parse_exposure_setting(expected)
