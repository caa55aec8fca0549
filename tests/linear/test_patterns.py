"""Every regular expression of the product takes linear time, by inputs made from its own parse tree and by hand."""

import ast
import re
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import StringConstraints, TypeAdapter, ValidationError

from broker.authorization_server import redirect_uris
from broker.web import i18n
from modules.github.shared import known_messages
from modules.knowledge_graph import search_text
from tests.linear import patterns
from tests.linear.candidates import may_be_slow_at_once
from tests.linear.growth import MOST_RATIO, Input, grown, ratio, runs, texts, worst
from tests.linear.patterns import ROOT, Use, all_uses, source_files, uses_in_text

PYTHON = [use for use in all_uses() if use.engine == "python"]
RUST = [use for use in all_uses() if use.engine == "rust"]
# What is written twice is tried once.
DISTINCT = {(one.pattern.pattern, one.pattern.flags, one.methods): one for one in PYTHON}.values()
DISTINCT_RUST = {one.pattern: one for one in RUST}.values()

# What is known to be hard on such patterns; the others are made from their parse trees.
BY_HAND = {
    "core/observability/redaction.py:_PATTERNS": texts(
        [
            "eyJ",
            "eyJa",
            "Bearer%20",
            "basic ",
            "postgres://",
            "a://",
            "a://:",
            "token=",
            "token='",
            "mcpist_",
            "secret ",
        ]
    ),
    "gateway/meta_tools/batch/references.py:_REFERENCE": [
        Input("${a", unit, end)
        for unit in (".b", "[0]", '["b"]', "['b']", '["', "['", '["\\', ".", "[")
        for end in ("", "}", "]", '"]')
    ],
    "modules/knowledge_graph/search_text.py:_LONG_MARK": texts(["ア", "ー", "アー", "アアー", "アアアーx"]),
    "modules/kit/text_cleaning.py:_EXTRA_SELECTOR": texts(["\ufe0f", "a\ufe0f\ufe0f", "\u200d\ufe0f", "\U000e0100"]),
    "modules/kit/paging.py:_LINK": texts(['<a>;rel="next', "<", "<a>", "<a>; rel", "<a>" + " " * 50]),
    "modules/kit/paging.py:_RELATION": texts(['rel="', "rel=", "rel ", "rel" + " " * 50, 'rel="a" ']),
    "gateway/mcp/request_headers.py:_ENCODED": [Input("=?base64?", "?", ""), Input("=?base64?", "?=", "x")],
}


@pytest.mark.parametrize(
    ("suspects", "whole_size"),
    [pytest.param(2, 128 << 10, id="short"), pytest.param(8, 1 << 20, id="long", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("use", DISTINCT, ids=str)
def test_a_pattern_takes_linear_time(use: Use, suspects: int, whole_size: int) -> None:
    """Of the inputs made from the pattern, the `suspects` that take longest at first, and the worst of them at
    `whole_size` characters."""
    found = worst(use, suspects)
    assert found.is_linear, f"{use}: {found}"
    times, seconds = ratio(found.run, found.input, encoded=found.encoded, whole_size=whole_size)
    print(f"{use}: {whole_size >> 10} KiB in {seconds * 1e3:.0f} ms, {times:.2f} times the half: {found.input}")
    assert times <= MOST_RATIO, f"{use}: {times:.2f} times as long as the half: {found.input}"


@pytest.mark.parametrize("key", BY_HAND)
def test_inputs_by_hand_take_linear_time(key: str) -> None:
    uses = [use for use in PYTHON if use.key == key]
    assert uses, f"there is no {key} any more"
    for use in uses:
        for one in BY_HAND[key]:
            for run in runs(use):
                assert (found := grown(run, one)).is_linear, f"{use}: {found}"


@pytest.mark.parametrize("use", DISTINCT_RUST, ids=str)
def test_a_pattern_of_pydantic_takes_linear_time(use: Use) -> None:
    """Rust's engine has no backtracking; what pydantic does around it is looked at too."""
    validate = TypeAdapter(Annotated[str, StringConstraints(pattern=use.pattern)]).validate_python

    def run(text: str) -> None:
        try:
            validate(text)
        except ValidationError as error:
            error.errors()

    for one in texts(["a", "a.", "0", "-", "a0_", " "]):
        times, seconds = ratio(run, one)
        assert times <= MOST_RATIO, f"{use}: {times:.2f}, {seconds:.3f} s: {one}"


def test_no_model_asks_pydantic_for_the_engine_with_backtracking() -> None:
    assert [path for path in source_files() if "regex_engine" in path.read_text(encoding="utf-8")] == []


def test_re_is_used_by_its_name_alone() -> None:
    """Otherwise an expression could not be found."""
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not [one for one in node.names if one.name in ("re", "regex", "re2") and one.asname], path
                assert "regex" not in [one.name for one in node.names], path
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("re", "regex"), path


def test_every_form_of_an_expression_is_found() -> None:
    source = """
import re
from typing import Annotated
import msgspec
from pydantic import Field, StringConstraints
WORD = "[a-z]"
A = re.compile(rf"{WORD}+", re.IGNORECASE)
B = tuple(re.compile(one) for one in ("b1", "b2"))
C = {"c": (re.compile("c"), 1)}
D = Annotated[str, Field(pattern="d")]
E = Annotated[str, msgspec.Meta(pattern="e", max_length=3)]
def f(text):
    return re.sub("f", "", text, flags=re.ASCII) or re.fullmatch("g", text, re.ASCII) or A.search(text)
class G:
    h: Annotated[str, StringConstraints(pattern=WORD)]
"""
    found = {(use.name, use.engine, _shown(use.pattern), *sorted(use.methods)) for use in uses_in_text(source)}
    every = tuple(sorted(patterns.METHODS))
    assert found == {
        ("A", "python", "[a-z]+", "search"),
        ("B", "python", "b1", *every),
        ("B", "python", "b2", *every),
        ("C", "python", "c", *every),
        ("D", "rust", "d", *every),
        ("E", "python", "e", "search"),
        ("f", "python", "f", "sub"),
        ("f", "python", "g", "fullmatch"),
        ("h", "rust", "[a-z]", *every),
    }


def _shown(pattern: Any) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+b", "match"), (r"(a|a)*b", "fullmatch"), (r"(a|b|ab)*c", "match"), (r"a*a*b", "match"),
        (r"\s+$", "search"), (r"must include .*is:x", "search"), (r"[^@]+@[^@]+\.[^@]+", "fullmatch"),
        (r"eyJ[\w-]{4,2000}\.", "sub"), (r"x[a-z]+:", "sub"), (r"BEGIN.+?END", "findall"),
        (r"([a-z0-9]+-?)+@", "match"), (r"(.*),(.*),(.*)x", "fullmatch"), (r"^(\w+\s?)*$", "match"),
        (r"([ァ-ヺー]{3,})ー(?![ァ-ヺー])", "sub"), (r"(?=.*x)(?=.*y)z", "search"),
    ],
)  # fmt: skip
def test_patterns_that_are_known_to_be_slow_are_found(pattern: str, method: str) -> None:
    use = Use("x.py", 1, "X", "python", re.compile(pattern), frozenset({method}))
    assert not worst(use).is_linear


def test_what_may_be_slow_at_once_is_told_from_what_cannot_be() -> None:
    """Only the former is tried with tiny texts first: with 512 characters it would not end."""
    slow = (
        "(a+)+b",
        "(a|a)*b",
        "(a|b|ab)*c",
        "([a-z0-9]+-?)+@",
        r"^(\w+\s?)*$",
        "((ab?)c)*",
        "(?:(?=a*)a)+",
        "(a??b)*",
    )
    flat = ("a*a*b", "[^@]+@[^@]+", "(a|b)c", "((a+)b)?", "(abc)*", "eyJ[a-z]{4,20}")
    assert [one for one in slow if not may_be_slow_at_once(re.compile(one))] == []
    assert [one for one in flat if may_be_slow_at_once(re.compile(one))] == []


FORMER = {
    "redirect_uris._WEB": (
        redirect_uris._WEB,
        r"(?P<scheme>https?)://(?P<host>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>.*)",
        ("https://", "http", "://", "a", ".", "[::1]", ":", "12345", "6", "/", "?", "]", "\n"),
    ),
    "names._ADDRESS": (i18n._ADDRESS, r"[^\s@<>\"?&]+@[^\s@<>\"?&]+\.[^\s@<>\"?&]+", ("a", "@", ".", "b", "<", " ")),
    "search._LONG_MARK": (
        search_text._LONG_MARK, r"([ァ-ヺー]{3,})ー(?![ァ-ヺー])", ("ア", "ー", "イ", "x", " ", "ヺ", "ァー"),
    ),
    "problems._KNOWN": (
        next(form for form, _ in known_messages.KNOWN_MESSAGES if "must include" in form.pattern),
        r"(?i)must include .*is:(issue|pull-request|pr)",
        ("must include ", "MUST INCLUDE ", "is:issue", "is:pr", "is:", "x", "\n", "must"),
    ),
}  # fmt: skip


@given(st.data())
@pytest.mark.parametrize("name", FORMER)
def test_a_repaired_pattern_accepts_what_it_accepted(name: str, data: st.DataObject) -> None:
    now, former, pieces = FORMER[name]
    text = data.draw(st.lists(st.sampled_from(pieces), max_size=12).map("".join))
    before = re.compile(former)
    if name == "search._LONG_MARK":
        assert now.sub(r"\1", text) == before.sub(r"\1", text)
    elif name == "problems._KNOWN":
        assert (now.search(text) is None) == (before.search(text) is None)
    else:
        assert _groups(now.fullmatch(text)) == _groups(before.fullmatch(text))


def _groups(found: "re.Match[str] | None") -> Any:
    return None if found is None else found.groupdict()


def test_the_patterns_in_sql_are_these_and_see_bounded_text() -> None:
    """PostgreSQL's engine sees a value after the product has bounded it; a constraint names its column."""
    found = {
        (path.relative_to(ROOT).as_posix(), " ".join(line.split()))
        for folder in ("alembic", "core", "broker", "gateway", "modules", "admin_ui", "server", "cli")
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"!?~\*? *'|SIMILAR TO|regexp_", line)
    }
    assert {file for file, _ in found} <= {
        "core/search_schema/tables.py",  # names of modules, in a constraint
        "server/postgres/backup.py",  # names of schemas of the operator's own database
        *(f"alembic/versions/{name}.py" for name in WITH_PATTERNS),
    }
    for file, line in found:
        if file.startswith("alembic/"):
            assert re.search(r"text (COLLATE \"C\" )?(NOT NULL|PRIMARY KEY).*CHECK \(", line), line
            column = line.split()[0]
            assert column in BOUNDED_COLUMNS, f"{file}: what bounds {column}?"


WITH_PATTERNS = (
    "0001_core",
    "0004_vault",
    "0005_identity",
    "0006_accounts",
    "0016_module_documents",
    "0017_profiles_and_requests",
    "0019_deployment_settings",
    "0032_jobs",
    "0034_results",
    "0035_schedules",
    "0050_tenant_keys",
    "0053_activity",
)
BOUNDED_COLUMNS = {
    "entry": "core.email_address: 320 characters, before any statement",
    "kind": "gateway.tasks.job_starter: one of two words of ours",
    "id": "made by MCPist, or matched by a pattern with an upper bound first",
    "challenge": "broker.authorization_server.authorization_codes: exactly 43 characters",
    "slug": "core.directory.tenants.SLUG_PATTERN: 63 characters",
    "module": "gateway.catalogue.MODULE_NAME_PATTERN: 63 characters",
    "tool": "admin_ui.api.access_requests: a name of the catalogue, or one of at most 63 characters",
    "name": "broker.api.identity_providers and notification_senders: 40 characters",
    "provider": "broker.providers.schema.ProviderId: 40 characters",
    "stream": "modules.activity.streams: one of a few words of ours",
}
