"""Title and tags of a document's front matter are read, and nothing in it can do harm."""

import time

import pytest

from modules.kit.front_matter import FrontMatter, find_first_heading, read_front_matter


@pytest.mark.parametrize(
    ("block", "title", "tags"),
    [
        ("title: Guide\ntags: [api, 認証]", "Guide", ("api", "認証")),
        ("title: 'It''s'\ntags:\n  - one\n- two # comment", "It's", ("one", "two")),
        ('title: "Say \\"hi\\" # here"\ntags: one, two , one', 'Say "hi" # here', ("one", "two")),
        ('tags: ["a, b", c]\ntitle: x # comment', "x", ("a, b", "c")),
        ("tag: '#solo'", "", ("solo",)),
        ("tags: []", "", ()),
        ("tags: [a, b", "", ("a", "b")),
        ("tags: [a,\n  b]\ntitle: x", "x", ("a", "b")),
        ("title: >\n  folded\ntags: null", "", ()),
        ("title: ~", "", ()),
        ("Title: A: B\nother:\n  title: no\n  deep: [1]", "A: B", ()),
        ("title: first\ntitle: second", "first", ()),
        ("a: &x [*x, *x]\ntitle: !!python/object:os.system x", "!!python/object:os.system x", ()),
        ("", "", ()),
    ],
)
def test_fields(block: str, title: str, tags: tuple[str, ...]) -> None:
    text = f"---\n{block}\n---\nbody\n"
    assert read_front_matter(text) == FrontMatter(title, tags, "body\n", len(text) - 5)


@pytest.mark.parametrize(
    "text", ["", "body", "---\ntitle: x\n", "text\n---\ntitle: x\n---\n", "--- x\ntitle: y\n---\n"]
)
def test_without_front_matter_all_is_text(text: str) -> None:
    assert read_front_matter(text) == FrontMatter("", (), text, 0)


def test_other_ends_of_lines() -> None:
    assert read_front_matter("\ufeff---\r\ntitle: x\r\ntags:\r\n- a\r\n---\r\nbody").rest == "body"
    assert read_front_matter("---\ntitle: x\n...\nbody").title == "x"


def test_limits() -> None:
    many = ", ".join(f"t{number}" for number in range(1_000))
    found = read_front_matter(f"---\ntitle: {'x' * 9_000}\ntags: [{many}, {'y' * 900}]\n---\n")
    assert len(found.title) == 500
    assert len(found.tags) == 50
    large = "---\n" + "a: b\n" * 20_000 + "---\nbody"
    assert read_front_matter(large).rest == large


@pytest.mark.parametrize("piece", ["---\n", "- ", '"', "[", ",", "a:\n", " #", "'"])
def test_time_is_linear(piece: str) -> None:
    start = time.thread_time()
    read_front_matter(f"---\ntags: [{piece * 30_000}]\n---\n")
    read_front_matter("---\n" + piece * 1_000_000)
    assert time.thread_time() - start < 2


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Guide\n\ntext", "Guide"),
        ("\n \r\n#  A  b \nx", "A b"),
        ("text\n# Guide", ""),
        ("## Guide", ""),
        ("#Guide", ""),
        ("", ""),
        ("\n" * 100_000, ""),
        ("# " + "x" * 2_000_000, "x" * 500),
    ],
)
def test_the_first_heading(text: str, title: str) -> None:
    assert find_first_heading(text) == title
