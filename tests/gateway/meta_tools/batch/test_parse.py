import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.meta_tools.batch.parse import MAX_BYTES, MAX_DEPTH, MAX_STEPS, parse_commands
from gateway.meta_tools.batch.report import report_problems
from gateway.meta_tools.batch.step import BatchStep, StepPosition
from tests.gateway.meta_tools.batch.made import parsed, problems_of

A = {"id": "a", "module": "notes", "tool_name": "add"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["id", "module", "tool_name", "params", "after", "output", "on_error", "modul"])

TOO_MANY = "line 1: the steps hold more than 100000 values or 30000 fields; send fewer"


def lines(count: int) -> str:
    return "\n".join(json.dumps(A | {"id": f"s{number}"}) for number in range(count))


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"x": value}
    return value


class TestWhatIsAccepted:
    def test_all_fields(self):
        full = A | {"params": {"x": [1]}, "after": ["b"], "output": True, "on_error": "stop"}
        assert parsed([full]) == [
            BatchStep(
                StepPosition(1, "step"), "a", "notes", "add", {"x": [1]}, after=("b",), output=True, on_error="stop"
            )
        ]

    def test_defaults(self):
        assert parsed(json.dumps(A)) == [BatchStep(StepPosition(1), "a", "notes", "add", {}, (), False, "skip")]

    def test_null_is_absent(self):
        assert parsed([A | {"params": None, "after": None, "output": None, "on_error": None}])[0].params == {}

    def test_blank_lines_are_skipped_and_counted(self):
        text = f"\n  \t\r\n{json.dumps(A)}\r\n\n{json.dumps(A | {'id': 'b'})}\n\n"
        assert [(step.id, str(step.position)) for step in parsed(text)] == [("a", "line 3"), ("b", "line 5")]

    def test_an_array_as_text(self):
        text = json.dumps([A, A | {"id": "b"}], indent=2)
        assert [str(step.position) for step in parsed(f"\n {text} \n")] == ["step 1", "step 2"]

    def test_one_object_over_several_lines(self):
        assert parsed("\n" + json.dumps(A, indent=2))[0].position == StepPosition(2)

    def test_a_line_separator_inside_a_string_breaks_no_line(self):
        text = json.dumps(A | {"params": {"x": "a\u2028b\x85c"}}, ensure_ascii=False)
        assert [step.params for step in parsed(f"{text}\n{json.dumps(A | {'id': 'b'})}")] == [
            {"x": "a\u2028b\x85c"},
            {},
        ]

    def test_fifty_steps(self):
        assert len(parsed(lines(MAX_STEPS))) == 50


class TestWhatIsRefused:
    @pytest.mark.parametrize("commands", ["", " \n\t\n", "[]", []])
    def test_no_steps(self, commands: Any):
        assert problems_of(commands)[0].startswith("line 1: no steps; send one JSON object a line")

    def test_fifty_one_steps(self):
        assert problems_of("\n" + lines(51)) == ["line 52: at most 50 steps in one batch, got 51; send several"]
        assert problems_of([A] * 51) == ["step 51: at most 50 steps in one batch, got 51; send several"]

    @pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "あ" * (MAX_BYTES // 3 + 1)])
    def test_too_large(self, text: str):
        assert problems_of(text) == [f"line 1: the text is larger than {MAX_BYTES} bytes; send fewer or smaller steps"]

    def test_too_many_values_or_lines(self):
        text = json.dumps(A | {"params": {"x": [1] * 150_000}}, separators=(",", ":"))
        assert problems_of(text) == [TOO_MANY]
        assert problems_of("\n" * 9_999 + json.dumps(A)) == []
        assert problems_of("\n" * 10_000 + json.dumps(A)) == [
            "line 10000: the text has more than 10000 lines; send fewer"
        ]

    def test_too_many_steps_to_wait_for(self):
        assert problems_of([A | {"after": ["b"] * 50}]) == []
        assert problems_of([A | {"after": ["b"] * 51}]) == [
            "step 1: after: expected an array of up to 50 step ids, got an array"
        ]

    def test_as_large_as_it_may_be(self):
        text = json.dumps(A)
        assert parse_commands(text + " " * (MAX_BYTES - len(text)))[1] == []

    @pytest.mark.parametrize("commands", [None, 5, {"id": "a"}, True, b"{}"])
    def test_another_type(self, commands: Any):
        assert "expected JSONL text or an array of objects" in problems_of(commands)[0]

    def test_what_is_no_json_has_its_line(self):
        found = problems_of(f'{json.dumps(A)}\n\n{{"id": b}}\n{json.dumps(A | {"id": "c"})}')
        assert len(found) == 1
        assert found[0].startswith("line 3: not valid JSON: ")
        assert "each line is one whole JSON object" in found[0]

    def test_a_broken_array_names_the_line_of_the_break(self):
        assert problems_of('[\n{"id": "a"},\n{"id": }]')[0].startswith("line 3: the array is not valid JSON: ")

    @pytest.mark.parametrize(("item", "what"), [(5, "a number"), ("{}", "a string"), ([], "an array"), (None, "null")])
    def test_what_is_no_object(self, item: Any, what: str):
        assert problems_of([A, item])[0].startswith("step 2: expected an object")
        assert problems_of([item])[0].endswith(f"got {what}")

    @pytest.mark.parametrize(
        ("field", "near"),
        [
            ("modul", "module"),
            ("tool", "tool_name"),
            ("arguments", "params"),
            ("depends_on", "after"),
            ("param", "params"),
        ],
    )
    def test_unknown_field_with_the_nearest_name(self, field: str, near: str):
        assert problems_of([A | {field: "x"}]) == [f'step 1: unknown field "{field}"; did you mean "{near}"?']

    def test_unknown_field_without_a_near_name(self):
        assert problems_of([A | {"zzz": 1}]) == [
            'step 1: unknown field "zzz"; there are: id, module, tool_name, params, after, output, max_tokens, on_error'
        ]

    def test_many_unknown_fields_are_counted(self):
        assert problems_of([A | {f"zz{n}": 1 for n in range(9)}])[-1] == "step 1: 4 more unknown fields"

    def test_missing_fields(self):
        assert [text.split(";")[0] for text in problems_of([{}])] == [
            "step 1: id is missing",
            "step 1: module is missing",
            "step 1: tool_name is missing",
        ]

    @pytest.mark.parametrize(
        ("field", "value", "text"),
        [
            ("id", 7, "id: expected a letter or _, then up to 63 letters, digits, _ or -, got a number"),
            ("module", "", 'module: expected the name of a module, got ""'),
            ("tool_name", ["x"], "tool_name: expected the name of a tool, got an array"),
            ("params", [], "params: expected an object, got an array"),
            ("params", "x", "params must be an object with the tool's arguments, or JSON text of one"),
            ("after", "b", 'after: expected an array of up to 50 step ids, got "b"'),
            ("after", [1], "after: expected an array of up to 50 step ids, got an array"),
            ("output", "true", 'output: expected true or false, got "true"'),
            ("output", 1, "output: expected true or false, got a number"),
            ("on_error", "halt", 'on_error: expected "skip" or "stop", got "halt"'),
            ("on_error", {}, 'on_error: expected "skip" or "stop", got an object'),
        ],
    )
    def test_wrong_type(self, field: str, value: Any, text: str):
        assert problems_of([A | {field: value}]) == [f"step 1: {text}"]

    @pytest.mark.parametrize("id", ["", "1a", "-a", "a b", "a.b", "a\n", "あ", "a" * 65, "a" * 100_000])
    def test_wrong_id(self, id: str):
        (text,) = problems_of([A | {"id": id}])
        assert "id: expected a letter or _" in text
        assert len(text) < 200

    @pytest.mark.parametrize("id", ["a", "_", "A-1_b", "a" * 64])
    def test_right_id(self, id: str):
        assert parsed([A | {"id": id}])[0].id == id

    def test_duplicate_id_names_both_lines(self):
        assert problems_of(f"{json.dumps(A)}\n\n{json.dumps(A)}") == [
            'line 3: id "a" is taken by line 1; every step has its own'
        ]

    def test_depth(self):
        assert problems_of([A | {"params": nested(MAX_DEPTH - 1)}]) == []
        assert problems_of([A | {"params": nested(MAX_DEPTH)}]) == ["step 1: nested more than 64 levels deep"]
        bomb = '{"id":"a","module":"m","tool_name":"t","params":{"x":' + "[" * 90_000
        assert problems_of(bomb)[0].startswith("line 1: not valid JSON")

    def test_objects_and_arrays_in_text(self):
        """As many as a message may have, and those in params that are text count together."""
        text = '{"x":[' + ",".join(["[]"] * 60_000) + "]}"
        line = '{"id":"a","module":"m","tool_name":"t","params":' + text + "}"
        assert problems_of(line) == []
        full = "line 1: the steps hold more than 100000 objects and arrays; send fewer"
        assert problems_of(f"{line}\n{line}") == [full]
        assert problems_of([A | {"params": text}]) == []
        assert problems_of([A | {"params": text}, A | {"id": "b", "params": text}]) == [full]
        assert problems_of("[" * 200_000) == [full]

    def test_values_in_text(self):
        """Those in params that are text count together; a text that is not JSON does not hide those of the others."""
        text = json.dumps({"x": [1] * 60_000}, separators=(",", ":"))
        assert problems_of([A | {"params": text}]) == []
        assert problems_of([A | {"params": text}, A | {"id": "b", "params": text}]) == [TOO_MANY]
        odd = [A | {"id": "c", "params": '"'}]
        assert problems_of([*odd, A | {"params": text}, A | {"id": "b", "params": text}]) == [TOO_MANY]
        fields = json.dumps({f"f{n}": 1 for n in range(31_000)})
        assert problems_of([A | {"params": fields}]) == [TOO_MANY]

    def test_params_as_text_have_the_depth_of_an_object(self):
        text = json.dumps(nested(MAX_DEPTH - 1))
        assert parsed([A | {"params": text}]) == parsed([A | {"params": nested(MAX_DEPTH - 1)}])
        (problem,) = problems_of([A | {"params": json.dumps(nested(MAX_DEPTH))}])
        assert problem == "step 1: params is nested too deep: more than 63 levels"


class TestGarbage:
    @given(st.text() | st.lists(JSON, max_size=5) | st.lists(st.dictionaries(FIELDS, JSON), max_size=4) | JSON)
    def test_never_raises_and_can_be_reported(self, commands: Any):
        steps, problems = parse_commands(commands)
        assert steps or problems
        report_problems(problems).text.encode()

    @given(st.lists(st.dictionaries(FIELDS, JSON).map(json.dumps) | st.text(max_size=20), max_size=8))
    def test_every_line_is_a_step_or_has_a_problem(self, texts: list[str]):
        text = "\n".join(texts)
        steps, problems = parse_commands(text)
        assert steps or problems
        places = {one.position.number for one in [*steps, *problems]}
        assert places <= set(range(1, text.count("\n") + 2)) | {len(steps)}
