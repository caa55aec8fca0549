import json
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.meta_tools.batch.references import (
    MalformedReference,
    Reference,
    UnresolvedReference,
    escape_text,
    find_references,
    format_path,
    look_up,
    split_references,
    substitute_references,
)

RESULT = {"id": 7, "name": "Ada", "tags": ["x", {"deep": None}], "with space": True, "日本": 1.5, "0": "zero"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def one(text: str) -> Reference:
    (part,) = split_references(text)
    assert isinstance(part, Reference)
    return part


def value_of(text: str, result: Any = RESULT) -> Any:
    return substitute_references({"v": text}, {"a": result})["v"]


class TestGrammar:
    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("${a}", ()),
            ("${a.name}", ("name",)),
            ("${a.tags[0].b[12]}", ("tags", 0, "b", 12)),
            ('${a["key with space"]}', ("key with space",)),
            ("${a['key with space'].x}", ("key with space", "x")),
            (r'${a["q\"}\u00e9"]}', ('q"}é',)),
            ('${a[""]}', ("",)),
            ("${a.日本.created-at.@type.$id}", ("日本", "created-at", "@type", "$id")),
            ("${a.items.0}", ("items", "0")),
        ],
    )
    def test_paths(self, text: str, path: tuple[Any, ...]):
        assert one(text) == Reference("a", path, text)

    @pytest.mark.parametrize(
        "text",
        [
            "${", "${}", "${ a}", "${a }", "${a.}", "${a..b}", "${a[}", "${a[]}", "${a[-1]}", "${a[x]}", "${a.b",
            "${1a}", '${a["b]}', r'${a["\q"]}', "${a[9999999999]}", "${a:-default}", "ok ${a} and ${b.}",
            '${a["' + "x" * 99999,
        ],
    )  # fmt: skip
    def test_malformed(self, text: str):
        with pytest.raises(MalformedReference, match=r"malformed reference .* for a literal \$\{") as raised:
            split_references(text)
        assert len(str(raised.value)) < 200

    def test_pieces(self):
        assert split_references("x ${a.b}$${c} $5 $") == ["x ", Reference("a", ("b",), "${a.b}"), "${", "c} $5 $"]

    def test_found_at_any_depth_but_not_in_keys(self):
        params = {"${no}": ["${a.x}", {"k": "is ${b[0]} and ${a.x}"}], "n": 1, "bad": "${", "worse": ["${a..}"]}
        found = find_references(params)
        assert [reference.text for reference in found.references] == ["${a.x}", "${b[0]}"]
        assert len(found.malformed) == 2

    def test_malformed_ones_are_bounded(self):
        assert len(find_references({"x": ["${"] * 1000}).malformed) == 5

    def test_references_are_limited_and_literals_are_not(self):
        assert len(find_references({"x": ["${a}" * 999, "${b}"]}).references) == 2
        assert find_references({"x": ["${a}" * 1000, "${b}"]}).malformed == (
            "more than 1000 references; write $${ for a literal ${",
        )
        assert find_references({"x": "$${" * 500_000}).malformed == ()
        assert find_references({"x": ["$${" * 1_999, "${a}"]}).malformed == ()
        assert find_references({"x": ["$${" * 2_000, "${a}"]}).malformed == (
            "more than 2000 references and $${ in one step; run this tool with call",
        )

    def test_the_references_of_all_steps_are_limited(self):
        assert find_references({"x": ["${a}"] * 7}, limit=7).count == 7
        assert find_references({"x": ["${a}"] * 8}, limit=7).malformed == (
            "more than 5000 references in all steps; send several batches",
        )

    def test_a_path_has_a_limit(self):
        assert len(one("${a" + ".x" * 64 + "}").path) == 64
        with pytest.raises(MalformedReference):
            split_references("${a" + ".x" * 65 + "}")


class TestSubstitution:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("${a}", RESULT),
            ("${a.id}", 7),
            ("${a.tags}", ["x", {"deep": None}]),
            ("${a.tags[1].deep}", None),
            ("${a.tags.0}", "x"),
            ("${a.0}", "zero"),
            ("${a['with space']}", True),
            ("${a.name}!", "Ada!"),
            (
                "<${a.id}|${a.tags}|${a.日本}|${a['with space']}|${a.tags[1].deep}>",
                '<7|["x",{"deep":null}]|1.5|true|null>',
            ),
            ("$${a.id}", "${a.id}"),
            ("$$${a.id}", "$${a.id}"),
            ("$${a.id} ${a.id}", "${a.id} 7"),
        ],
    )
    def test_values(self, text: str, value: Any):
        assert value_of(text) == value
        assert type(value_of(text)) is type(value)

    def test_keys_stay(self):
        assert substitute_references({"${a}": ["${a.id}"]}, {"a": RESULT}) == {"${a}": [7]}

    def test_what_comes_in_is_not_read_again(self):
        assert value_of("${a.x} ${a.x}", {"x": "${a.x} $${"}) == "${a.x} $${ ${a.x} $${"

    @given(st.text(st.sampled_from("${}ab.")) | st.text())
    def test_an_escaped_string_comes_back(self, text: str):
        assert value_of(escape_text(text)) == text
        assert find_references({"v": escape_text(text)}).references == ()

    @given(JSON)
    def test_a_whole_value_stays_what_it_is(self, value: Any):
        assert value_of("${a.v}", {"v": value}) == value

    @given(JSON, st.text())
    def test_inside_a_string_it_is_compact_json(self, value: Any, around: str):
        text = value_of(f"{escape_text(around)} ${{a.v}}", {"v": value})
        inside = text.removeprefix(f"{around} ")
        assert inside == value if isinstance(value, str) else json.loads(inside) == value

    @given(JSON.filter(lambda value: isinstance(value, dict | list)), st.data())
    def test_every_written_path_leads_there(self, value: Any, data: st.DataObject):
        path: list[str | int] = []
        at = value
        while isinstance(at, dict | list) and at:
            path.append(data.draw(st.sampled_from(list(at))) if isinstance(at, dict) else len(at) - 1)
            at = cast("Any", at)[path[-1]]
        text = "${a" + "".join(f"[{json.dumps(segment)}]" for segment in path) + "}"
        assert look_up(one(text), value) == at

    @given(st.text(st.sampled_from("$${}ab.[]\"'0\\ ")), JSON)
    def test_garbage_is_refused_or_resolved(self, text: str, result: Any):
        found = find_references({"v": text})
        if found.malformed or any(reference.step != "a" for reference in found.references):
            return
        with suppress(UnresolvedReference):
            substitute_references({"v": text}, {"a": result})


class TestMissing:
    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("${a.nam}", '${a.nam}: a has no "nam"; it has: id, name, tags, with space, 日本, 0'),
            ("${a.tags[2]}", "${a.tags[2]}: a.tags is an array of 2"),
            ("${a.tags.first}", "${a.tags.first}: a.tags is an array of 2"),
            ("${a.tags[1].deep.er}", "${a.tags[1].deep.er}: a.tags[1].deep is null, nothing is inside"),
            ("${a.name.x}", "${a.name.x}: a.name is a string, nothing is inside"),
            ("${a[0]}", '${a[0]}: a has no "0"; it has: id, name, tags, with space, 日本, 0'),
        ],
    )
    def test_says_what_is_there(self, text: str, error: str):
        with pytest.raises(UnresolvedReference) as raised:
            value_of(text)
        assert str(raised.value) == error

    def test_the_text_is_bounded(self):
        result = {"k" * 5000 + str(number): 0 for number in range(500)}
        for text in ("${a." + "x" * 9000 + "}", "${a['" + "y" * 9000 + "']}"):
            with pytest.raises(UnresolvedReference) as raised:
                value_of(text, result)
            assert len(str(raised.value)) < 1500
            assert "and 488 more" in str(raised.value)

    def test_an_empty_object(self):
        with pytest.raises(UnresolvedReference, match="it has: none"):
            value_of("${a.x}", {})

    @pytest.mark.parametrize("text", ["${a}", "${a} ${a}"])
    def test_values_together_are_limited(self, text: str):
        with pytest.raises(UnresolvedReference, match="bring in over 1000 bytes"):
            substitute_references({"v": [text] * 3}, {"a": "x" * 400}, max_bytes=1000)

    def test_a_value_too_deep_to_encode(self):
        deep: Any = []
        for _ in range(5000):
            deep = [deep]
        with pytest.raises(UnresolvedReference, match="too deep"):
            value_of("${a}", deep)


def test_a_written_path_is_cut():
    assert len(format_path("a", ("b" * 50,) * 50)) == 120
    assert format_path("a", ("b", 0, "c d", "")) == 'a.b[0]["c d"][""]'
