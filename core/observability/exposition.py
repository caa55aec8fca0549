"""The metrics as prometheus_client shows them. Imported only where metrics are served: the library takes 50 ms."""

import platform
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from core.observability.metrics import COUNTERS, DURATION_BUCKETS, OBSERVABLE_METRICS, CallSeries, Metrics
from core.release import get_release

DumpedFamily = tuple[str, str, str, str, list[tuple[str, dict[str, str], float]]]
"""Name, documentation, type and unit of a metric family, and its samples: name, labels, value."""


def build_registry(metrics: Metrics) -> CollectorRegistry:
    """Build a registry with the metrics of MCPist, of the process and of the garbage collector."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Exposition(metrics, get_release()))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def dump_metrics(registry: CollectorRegistry) -> list[DumpedFamily]:
    """Collect a registry as data, which another process can show."""
    return [
        (one.name, one.documentation, one.type, one.unit, [(s.name, s.labels, s.value) for s in one.samples])
        for one in registry.collect()
    ]


def merge_workers(workers: Mapping[int, Sequence[DumpedFamily]]) -> CollectorRegistry:
    """Build a registry with the metrics of all workers, each with the label ``worker``."""
    families: dict[str, Metric] = {}
    for worker, dump in workers.items():
        for name, documentation, kind, unit, samples in dump:
            family = families.setdefault(name, Metric(name, documentation, kind, unit))
            for sample, labels, value in samples:
                family.add_sample(sample, {**labels, "worker": str(worker)}, value)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(list(families.values())))
    return registry


class _Families(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


class _Exposition(Collector):
    def __init__(self, metrics: Metrics, version: str) -> None:
        self._metrics = metrics
        self._version = version

    def collect(self) -> Iterable[Metric]:
        yield _build_info_metric(self._version)
        yield from _collect_calls(self._metrics)
        yield GaugeMetricFamily("mcpist_running_calls", "Tools running now.", value=self._metrics.running_calls)
        yield CounterMetricFamily(
            "mcpist_credentials_malformed",
            "Credentials of a wrong form, refused without a query.",
            value=self._metrics.malformed_credentials,
        )
        yield from _collect_counters(self._metrics)
        yield from _collect_observables(self._metrics)


def _build_info_metric(version: str) -> Metric:
    family = GaugeMetricFamily(
        "mcpist_build_info", "Always 1; the versions are in the labels.", labels=("version", "python")
    )
    family.add_metric((version, platform.python_version()), 1)
    return family


def _collect_calls(metrics: Metrics) -> Iterator[Metric]:
    """Collect the counter with a series for each tool, and the histogram, 17 times as large, with one for each
    module."""
    calls = CounterMetricFamily("mcpist_calls", "Finished runs of tools.", labels=("module", "tool", "outcome"))
    duration = HistogramMetricFamily("mcpist_call_duration_seconds", "Duration of tool runs.", labels=("module",))
    modules: dict[str, list[CallSeries]] = defaultdict(list)
    for key, series in sorted(metrics.calls.items()):
        calls.add_metric(key, sum(series.counts))
        modules[key[0]].append(series)
    for module, parts in modules.items():
        totals = accumulate(sum(column) for column in zip(*(part.counts for part in parts), strict=True))
        buckets = list(zip([*map(str, DURATION_BUCKETS), "+Inf"], totals, strict=True))
        duration.add_metric((module,), buckets, sum(part.seconds for part in parts))
    yield calls
    yield duration


def _collect_counters(metrics: Metrics) -> Iterator[Metric]:
    for counter, (name, label, about) in COUNTERS.items():
        family = CounterMetricFamily(name, about, labels=(label,))
        for value, number in sorted(metrics.counters[counter].items()):
            family.add_metric((value,), number)
        yield family


def _collect_observables(metrics: Metrics) -> Iterator[Metric]:
    for metric in OBSERVABLE_METRICS:
        if metric.name in metrics.observables:
            make = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
            yield make(metric.name, metric.description, value=metrics.observables[metric.name]())
        elif metric.name in metrics.labelled:
            family = GaugeMetricFamily(metric.name, metric.description, labels=(metric.label,))
            sums: dict[str, float] = defaultdict(float)
            for read in metrics.labelled[metric.name]:
                for value, number in read().items():
                    sums[value] += number
            for value, number in sums.items():
                family.add_metric((value,), number)
            yield family
