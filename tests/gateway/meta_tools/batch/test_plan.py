from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.meta_tools.batch.plan import Plan, build_plan
from gateway.meta_tools.batch.step_order import find_cycles, group_into_waves
from tests.gateway.meta_tools.batch.made import UNKNOWN, Tool, errors, good_plan, parsed, planned, step

CLOSED = Tool({"type": "object", "properties": {"items": {"type": "array"}}, "additionalProperties": False})
NEEDS = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), max_size=3)).map(
    lambda needs: {one: [other for other in wanted if other in needs] for one, wanted in needs.items()}
)


class TestNeeds:
    def test_references_imply_the_need(self):
        made = good_plan([step("a"), step("b", {"x": "${a.id} ${c}"}, after=("c", "a")), step("c")])
        assert [one.needs for one in made.steps] == [(), ("c", "a"), ()]
        assert made.waves == (("a", "c"), ("b",))

    def test_waves(self):
        made = good_plan([step("d", after=("b", "c")), step("c", after=("a",)), step("b", after=("a",)), step("a")])
        assert made.waves == (("a",), ("c", "b"), ("d",))

    def test_unknown_ids(self):
        steps = [step("first"), step("b", after=("frist",), number=2), step("c", {"x": "${fist.id}"}, number=3)]
        assert errors(planned(steps)) == [
            (2, 'after: there is no step "frist"; did you mean "first"?'),
            (3, '${fist.id}: there is no step "fist" (for a literal ${ write $${); did you mean "first"?'),
        ]

    def test_shell_variables_are_told_how_to_be_literal(self):
        ((_, error),) = errors(planned([step("a", {"script": "echo ${HOME}"})]))
        assert error == '${HOME}: there is no step "HOME" (for a literal ${ write $${); the steps are: a'

    def test_malformed_references(self):
        ((number, error),) = errors(planned([step("a", {"x": "${a[}"}, number=4)]))
        assert number == 4
        assert error.startswith('malformed reference "${a[}"')


class TestCycles:
    @pytest.mark.parametrize("length", range(1, 6))
    @pytest.mark.parametrize("by_reference", [True, False])
    def test_named_with_the_path_at_its_first_step(self, length: int, by_reference: bool):
        ids = "abcde"[:length]
        following = dict(pairwise(ids + ids[0]))
        steps = [
            step(
                one,
                {"x": f"${{{following[one]}}}"} if by_reference else {},
                number,
                after=() if by_reference else (following[one],),
            )
            for number, one in enumerate(ids, 3)
        ]
        behind = step("z", after=(ids[-1],), number=1)
        path = " → ".join(ids + ids[0])
        assert errors(planned([behind, *steps])) == [
            (3, f"cycle: {path} (each needs the next); remove one of these needs")
        ]

    @given(NEEDS)
    def test_every_cycle_found_is_one_and_none_is_left_over(self, needs: dict[str, list[str]]):
        found = find_cycles(needs)
        for cycle in found:
            assert all(after in needs[before] for before, after in pairwise([*cycle, cycle[0]]))
        left = {one: wanted for one, wanted in needs.items() if not any(one in cycle for cycle in found)}
        left = {one: [other for other in wanted if other in left] for one, wanted in left.items()}
        assert sum(map(len, group_into_waves(left))) == len(left)
        assert bool(found) == (sum(map(len, group_into_waves(needs))) < len(needs))


class TestTools:
    def test_hidden_and_made_up_tools_read_the_same(self):
        def answers(name: str) -> list[tuple[int, str]]:
            steps = [step("a", {"x": 1}, tool_name=name), step("b", {"x": "${a.nope}"}, number=2)]
            tools = {"add": Tool()}
            return errors(build_plan(steps, lambda m, n: tools.get(n), lambda t, p: "wrong", unknown_tool_text=UNKNOWN))

        assert answers("hidden") == answers("made_up")
        assert answers("hidden")[0] == (1, UNKNOWN)

    def test_impossible_references(self):
        steps = [step("a"), step("b", {"x": "${a.itens[0]}"}, number=2)]
        assert errors(planned(steps, CLOSED)) == [
            (2, '${a.itens[0]}: a has no "itens"; it has: items; did you mean "items"?')
        ]
        assert isinstance(planned([step("a"), step("b", {"x": "${a.items[0].x}"})], CLOSED), Plan)

    def test_params_are_checked_where_no_reference_is(self):
        seen: list[dict[str, Any]] = []

        def check(tool: Tool, params: dict[str, Any]) -> str | None:
            seen.append(params)
            return "n: expected a number" if "n" in params else None

        steps = [
            step("a", {"n": "x"}, 1),
            step("b", {"n": "${a.x}"}, 2),
            step("c", {"text": "costs $${5}"}, 3),
            step("d", {"text": "${"}, 4),
        ]
        found = errors(build_plan(steps, lambda m, n: Tool(), check, unknown_tool_text=UNKNOWN))
        assert found[0] == (1, "n: expected a number")
        assert [number for number, _ in found] == [1, 4]
        assert seen == [{"n": "x"}, {"text": "costs ${5}"}]

    def test_all_problems_at_once_in_the_order_of_their_lines(self):
        steps = [step("c", {"x": "${"}, 5), step("b", after=("b",), number=2), step("d", after=("x",), number=9)]
        assert [number for number, _ in errors(planned(steps))] == [2, 5, 9]

    def test_problems_are_bounded(self):
        params = {"x": ["${no%d.x}" % number for number in range(900)]}  # noqa: UP031
        assert len(errors(planned([step("a", params)]))) == 5
        wrong = {"x": [f"${{a.bad{number}}}" for number in range(900)]}
        assert len(errors(planned([step("a"), step("b", wrong)], CLOSED))) == 5


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": st.sampled_from("abcd"),
                "module": st.just("m"),
                "tool_name": st.sampled_from(["t", "gone"]),
                "params": st.dictionaries(st.text(max_size=2), st.text(st.sampled_from("${}abcx.[0]"), max_size=12)),
                "after": st.lists(st.sampled_from("abcde"), max_size=2),
            }
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda raw: raw["id"],
    )
)
def test_garbage_is_planned_or_refused(raw: list[dict[str, Any]]):
    steps = parsed(raw)
    made = build_plan(steps, lambda m, n: None if n == "gone" else CLOSED, lambda t, p: None, unknown_tool_text=UNKNOWN)
    if isinstance(made, Plan):
        assert sorted(one for wave in made.waves for one in wave) == sorted(one.id for one in steps)
    else:
        assert made
        assert all(problem.error and problem.position in {one.position for one in steps} for problem in made)
