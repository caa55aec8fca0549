import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.meta_tools.batch.run import BatchOutcome, StepResult, run_plan
from gateway.meta_tools.batch.step import BatchStep
from tests.gateway.meta_tools.batch.made import good_plan, step

OK = StepResult({"done": True}, "done")
FAILED = StepResult(None, "no such note", is_error=True)


class Recorder:
    """A `call` that gives every step some turns of the event loop, and keeps what it saw."""

    def __init__(self, failing: set[str] = frozenset(), turns: dict[str, int] | None = None) -> None:  # type: ignore[assignment]
        self.failing = failing
        self.turns = turns or {}
        self.started: list[str] = []
        self.ended: list[str] = []
        self.ended_before: dict[str, set[str]] = {}
        self.params: dict[str, dict[str, Any]] = {}
        self.most = 0

    async def __call__(self, one: BatchStep, params: dict[str, Any]) -> StepResult:
        self.started.append(one.id)
        self.ended_before[one.id] = set(self.ended)
        self.params[one.id] = params
        self.most = max(self.most, len(self.started) - len(self.ended))
        for _ in range(self.turns.get(one.id, 1)):
            await asyncio.sleep(0)
        self.ended.append(one.id)
        return FAILED if one.id in self.failing else OK


def answering(results: dict[str, StepResult]) -> Callable[[BatchStep, dict[str, Any]], Awaitable[StepResult]]:
    async def call(one: BatchStep, params: dict[str, Any]) -> StepResult:
        return results.get(one.id, OK)

    return call


def statuses(outcome: BatchOutcome) -> dict[str, str]:
    return {one.id: f"{one.status}: {one.error}" if one.error else one.status for one in outcome.steps}


class TestOrderAndValues:
    async def test_values_flow_along_references(self):
        recorder = Recorder()
        steps = [step("b", {"x": "${a.done}", "y": "it is ${a.done}, $${a}"}), step("a")]
        outcome = await run_plan(good_plan(steps), recorder)
        assert recorder.params["b"] == {"x": True, "y": "it is true, ${a}"}
        assert statuses(outcome) == {"b": "ok", "a": "ok"}
        assert not outcome.is_error

    async def test_a_tool_with_text_alone_is_referred_to_as_text(self):
        recorded: list[Any] = []

        async def call(one: BatchStep, params: dict[str, Any]) -> StepResult:
            recorded.append(params)
            return StepResult(None, "plain")

        outcome = await run_plan(good_plan([step("a", output=True), step("b", {"x": "${a}"})]), call)
        assert recorded[1] == {"x": "plain"}
        assert outcome.steps[0].result == "plain"

    async def test_only_steps_with_output_show_their_result(self):
        outcome = await run_plan(
            good_plan([step("a", output=True), step("b"), step("c", {"x": "${b}"})]), answering({})
        )
        assert [one.result for one in outcome.steps] == [{"done": True}, None, None]

    async def test_independent_steps_overlap_up_to_the_bound(self):
        for parallel in (1, 3, 8):
            recorder = Recorder()
            await run_plan(good_plan([step(f"s{n}") for n in range(12)]), recorder, parallel=parallel)
            assert recorder.most == parallel

    async def test_progress(self):
        seen: list[tuple[float, float | None, str]] = []

        async def report(done: float, total: float | None, message: str) -> None:
            seen.append((done, total, message))

        steps = [step("a"), step("b", after=("a",)), step("c", after=("b",))]
        await run_plan(good_plan(steps), Recorder({"b"}), report_progress=report)
        assert seen == [(1, 3, "a ok"), (3, 3, "b error")]


class TestFailures:
    async def test_dependents_are_skipped_and_the_rest_goes_on(self):
        steps = [step("a"), step("b", {"x": "${a}"}), step("c", after=("b",)), step("d")]
        outcome = await run_plan(good_plan(steps), answering({"a": FAILED}))
        assert statuses(outcome) == {
            "a": "error: no such note",
            "b": "skipped: a failed",
            "c": "skipped: a failed",
            "d": "ok",
        }
        assert not outcome.is_error

    async def test_stop_starts_nothing_more_and_lets_finish_what_runs(self):
        recorder = Recorder({"a"}, {"a": 1, "b": 5})
        steps = [step("a", on_error="stop"), step("b"), step("c"), step("d", after=("a",))]
        outcome = await run_plan(good_plan(steps), recorder, parallel=2)
        assert recorder.started == ["a", "b"]
        assert statuses(outcome) == {
            "a": "error: no such note",
            "b": "ok",
            "c": "skipped: stopped because a failed",
            "d": "skipped: a failed",
        }

    async def test_a_failure_of_a_step_with_skip_stops_nothing(self):
        recorder = Recorder({"a"})
        await run_plan(good_plan([step("a"), step("b", on_error="stop"), step("c")]), recorder, parallel=1)
        assert recorder.started == ["a", "b", "c"]

    async def test_a_path_that_is_not_there_fails_its_step_alone(self):
        steps = [step("a"), step("b", {"x": "${a.gone}"}), step("c", after=("b",)), step("d", after=("a",))]
        outcome = await run_plan(good_plan(steps), answering({}))
        assert statuses(outcome) == {
            "a": "ok",
            "b": 'error: ${a.gone}: a has no "gone"; it has: done',
            "c": "skipped: b failed",
            "d": "ok",
        }

    async def test_an_exception_is_an_error_without_its_text(self, caplog: pytest.LogCaptureFixture):
        async def call(one: BatchStep, params: dict[str, Any]) -> StepResult:
            if one.id == "a":
                raise RuntimeError("password=hunter2")
            return OK

        outcome = await run_plan(good_plan([step("a"), step("b")]), call)
        assert statuses(outcome) == {"a": "error: internal error; whether it took effect is unknown", "b": "ok"}
        assert [vars(record)["error"] for record in caplog.records] == ["RuntimeError"]
        assert not any("hunter2" in str(vars(record)) for record in caplog.records)

    async def test_a_long_error_is_cut(self):
        outcome = await run_plan(
            good_plan([step("a")]), answering({"a": StepResult(None, "x" * 10_000, is_error=True)})
        )
        assert len(outcome.steps[0].error) == 2000

    @pytest.mark.parametrize(
        ("failing", "output", "is_error"),
        [("", "", False), ("a", "", False), ("ab", "", True), ("a", "a", True), ("a", "b", False), ("", "ab", False)],
    )
    async def test_when_the_whole_is_an_error(self, failing: str, output: str, is_error: bool):
        plan = good_plan([step(one, output=one in output) for one in "ab"])
        assert (await run_plan(plan, Recorder(set(failing)))).is_error is is_error

    async def test_a_skipped_step_with_output_makes_it_an_error(self):
        plan = good_plan([step("a"), step("b", output=True, after=("a",)), step("c")])
        assert (await run_plan(plan, Recorder({"a"}))).is_error


class TestResultsTooLarge:
    async def test_what_does_not_fit_is_left_out_by_name(self):
        results = {one: StepResult(one * size, "") for one, size in (("a", 60), ("b", 60), ("c", 20))}
        outcome = await run_plan(
            good_plan([step(one, output=True) for one in "abc"]), answering(results), max_result_bytes=100
        )
        assert [one.result for one in outcome.steps] == ["a" * 60, None, "c" * 20]
        assert outcome.steps[1].status == "ok"
        assert outcome.steps[1].error == (
            "ran, but its result of 62 bytes is left out: over 100 bytes in all; "
            "if it only reads, ask for less or call it alone"
        )
        assert not outcome.is_error

    async def test_a_result_too_deep_to_encode(self):
        deep: Any = []
        for _ in range(5000):
            deep = [deep]
        outcome = await run_plan(good_plan([step("a", output=True)]), answering({"a": StepResult(deep, "")}))
        assert outcome.steps[0].error == "ran, but its result is nested too deeply to be shown"


class Blocking:
    """A `call` whose steps wait until they are released or cancelled."""

    def __init__(self, stubborn: str = "") -> None:
        self.stubborn = stubborn
        self.release = asyncio.Event()
        self.all_started = asyncio.Event()
        self.expected = 2
        self.started: list[str] = []
        self.cancelled: list[str] = []

    async def __call__(self, one: BatchStep, params: dict[str, Any]) -> StepResult:
        self.started.append(one.id)
        if len(self.started) == self.expected:
            self.all_started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.append(one.id)
            if one.id != self.stubborn:
                raise
        return OK


class TestCancellation:
    async def test_cancelling_the_batch_cancels_what_runs_and_starts_nothing(self):
        call = Blocking()
        task = asyncio.create_task(run_plan(good_plan([step(one) for one in "abcd"]), call, parallel=2))
        await asyncio.wait_for(call.all_started.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert call.started == call.cancelled == ["a", "b"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_a_progress_report_that_fails_leaves_no_step_behind(self):
        call = Blocking()
        fast = step("fast")

        async def mixed(one: BatchStep, params: dict[str, Any]) -> StepResult:
            return OK if one is fast else await call(one, params)

        async def report(done: float, total: float | None, message: str) -> None:
            raise ConnectionError

        with pytest.raises(ConnectionError):
            await run_plan(good_plan([fast, step("slow")]), mixed, report_progress=report)
        assert call.cancelled == ["slow"]

    async def test_at_the_deadline_the_outcome_says_what_is_known(self):
        call = Blocking(stubborn="b")
        plan = good_plan([step("a"), step("b"), step("c"), step("d", after=("a",))])
        outcome = await run_plan(plan, call, parallel=2, deadline=asyncio.get_running_loop().time() + 0.05)
        assert statuses(outcome) == {
            "a": "error: cut off before it answered; whether it took effect is unknown",
            "b": "ok",
            "c": "skipped: the time of the batch ran out",
            "d": "skipped: the time of the batch ran out",
        }

    async def test_after_the_deadline_nothing_starts(self):
        recorder = Recorder()
        outcome = await run_plan(good_plan([step("a")]), recorder, deadline=asyncio.get_running_loop().time() - 1)
        assert recorder.started == []
        assert outcome.is_error


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str]]:
    """Needs of up to 12 steps without a cycle, and an order to send them in."""
    ids = [f"s{number}" for number in range(draw(st.integers(1, 12)))]
    needs = {
        one: draw(st.lists(st.sampled_from(ids[:at]), unique=True, max_size=3)) if at else []
        for at, one in enumerate(ids)
    }
    return needs, draw(st.permutations(ids))


def behind(failed: set[str], needs: dict[str, list[str]]) -> set[str]:
    lost = set(failed)
    for one, wanted in needs.items():  # `graphs` makes needs in an order in which one pass is enough
        if not lost.isdisjoint(wanted):
            lost.add(one)
    return lost - failed


class TestAnyGraph:
    @settings(max_examples=150, deadline=None)
    @given(graphs(), st.data())
    def test_order_bound_and_skips(self, graph: tuple[dict[str, list[str]], list[str]], data: st.DataObject):
        needs, order = graph
        failing = set(data.draw(st.lists(st.sampled_from(order), max_size=3)))
        parallel = data.draw(st.integers(1, 5))
        recorder = Recorder(failing, {one: data.draw(st.integers(0, 4)) for one in order})
        halves = {one: needs[one][::2] for one in needs}
        steps = [
            step(one, {"x": [f"${{{other}}}" for other in needs[one][1::2]]}, after=tuple(halves[one])) for one in order
        ]
        outcome = asyncio.run(run_plan(good_plan(steps), recorder, parallel=parallel))

        failed = failing & set(recorder.started)
        skipped = behind(failed, needs)
        assert len(recorder.started) == len(set(recorder.started))
        assert set(recorder.started) == set(order) - skipped
        assert all(set(needs[one]) <= recorder.ended_before[one] for one in recorder.started)
        assert recorder.most <= parallel
        assert [one.id for one in outcome.steps] == order
        expected = {one: "error" if one in failed else "skipped" if one in skipped else "ok" for one in order}
        assert {one.id: one.status for one in outcome.steps} == expected

    @settings(max_examples=100, deadline=None)
    @given(graphs(), st.data())
    def test_after_a_stop_nothing_starts(self, graph: tuple[dict[str, list[str]], list[str]], data: st.DataObject):
        needs, order = graph
        stopper = data.draw(st.sampled_from(order))
        recorder = Recorder({stopper}, {one: data.draw(st.integers(0, 4)) for one in order})
        steps = [step(one, after=tuple(needs[one]), on_error="stop") for one in order]
        parallel = data.draw(st.integers(1, 4))
        outcome = asyncio.run(run_plan(good_plan(steps), recorder, parallel=parallel))
        # Steps that were let loose together with the one that fails may make their first move after its last.
        late = [one for one in recorder.started if stopper in recorder.ended_before[one]]
        assert stopper in recorder.started
        assert len(late) < parallel
        assert not behind({stopper}, needs) & set(recorder.started)
        assert {one.id for one in outcome.steps if one.status != "skipped"} == set(recorder.started)
