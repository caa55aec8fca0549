"""Activity of a person, what they did and when: from their time tracker, their calendar and their health data."""

from modules.activity.entry_tools import ENTRY_TOOLS, READ, WRITE
from modules.activity.health_tools import HEALTH_TOOLS
from modules.activity.summary_tools import SUMMARY_TOOLS
from modules.activity.sync_tools import SYNC_TOOLS
from modules.kit import Icon, Module, ParameterSample

MODULE = Module(
    name="activity",
    title="Activity",
    description="What the person did and when: tracked time, meetings, steps, sleep and exercises, day by day.",
    scopes=frozenset({READ, WRITE}),
    tools=(*SUMMARY_TOOLS, *ENTRY_TOOLS, *HEALTH_TOOLS, *SYNC_TOOLS),
    untrusted=True,
    icon=Icon("#0369a1", "M4 12h4l2-6 4 12 2-6h4"),
    samples={
        "start_date": ParameterSample("2026-02-02"),
        "end_date": ParameterSample("2026-02-08"),
    },
)
