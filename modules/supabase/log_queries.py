"""Queries of a project's logs: one per service, from a fixed table. Nothing of a caller's stands in them but numbers
and a word to look for, of which no character means anything in SQL."""

import re
from typing import Literal, NamedTuple

from modules.kit import ToolError

LogService = Literal["api", "postgres", "edge_function", "auth", "storage", "realtime", "branch_action"]

_WORDS = re.compile(r"[\w ./:@=&?#,+-]{1,200}")


class LogSource(NamedTuple):
    """A table of logs: `joins` open its nested parts, `columns` are expressions by the name that a result has."""

    table: str
    joins: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()


# Tables and fields as https://supabase.com/docs/guides/telemetry/logs lists them.
_METADATA = "cross join unnest(metadata) as m"
SOURCES: dict[LogService, LogSource] = {
    "api": LogSource(
        "edge_logs",
        (_METADATA, "cross join unnest(m.request) as request", "cross join unnest(m.response) as response"),
        (("status", "response.status_code"), ("method", "request.method"), ("path", "request.path")),
    ),
    "postgres": LogSource(
        "postgres_logs", (_METADATA, "cross join unnest(m.parsed) as parsed"), (("level", "parsed.error_severity"),)
    ),
    "edge_function": LogSource(
        "function_edge_logs",
        (_METADATA, "cross join unnest(m.request) as request", "cross join unnest(m.response) as response"),
        (
            ("status", "response.status_code"), ("method", "request.method"), ("function_id", "m.function_id"),
            ("milliseconds", "m.execution_time_ms"),
        ),
    ),
    "auth": LogSource(
        "auth_logs",
        (_METADATA,),
        (("level", "m.level"), ("status", "m.status"), ("path", "m.path"), ("error", "m.error")),
    ),
    "storage": LogSource("storage_logs"),
    "realtime": LogSource("realtime_logs"),
    "branch_action": LogSource("workflow_run_logs", (), (("workflow_run", "workflow_run"),)),
}  # fmt: skip


def build_log_query(service: LogService, search: str, limit: int, offset: int) -> str:
    """Build the query for the newest lines of a service, those with `search` in the message if it is given.

    Raises:
        ToolError: `search` has characters that a word of a log is not looked for with.
    """
    source = SOURCES[service]
    columns = [
        f"{source.table}.timestamp as timestamp", "event_message as message",
        *(f"{expression} as {name}" for name, expression in source.columns),
    ]  # fmt: skip
    parts = ["select", ", ".join(columns), "from", source.table, *source.joins]
    if search:
        if not _WORDS.fullmatch(search):
            raise ToolError("search may have letters, digits, blanks and ./:@=&?#,+-_ only, at most 200 of them")
        parts.append(f"where strpos(lower(event_message), '{search.lower()}') > 0")
    parts.append(f"order by timestamp desc limit {limit:d} offset {offset:d}")
    return " ".join(parts)
