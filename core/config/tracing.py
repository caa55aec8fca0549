"""OpenTelemetry's own variables, as far as MCPist reads them; the OTLP exporter itself reads those for certificates."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.config import parsers as values
from core.config.env import declare_setting, read_environment
from core.secret import Secret

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
SAMPLERS = tuple(
    parent + name for parent in ("", "parentbased_") for name in ("always_on", "always_off", "traceidratio")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingSettings:
    """Settings of trace export, under OpenTelemetry's own names: one configuration serves every program."""

    endpoint: str = declare_setting(
        ENDPOINT_VARIABLES[0],
        values.parse_endpoint_url,
        "a URL such as http://127.0.0.1:4318",
        "The OTLP/HTTP collector; traces go to `/v1/traces` below it.",
        "",
        shown_default="no traces",
    )
    traces_endpoint: str = declare_setting(
        ENDPOINT_VARIABLES[1],
        values.parse_endpoint_url,
        "a URL such as http://127.0.0.1:4318/v1/traces",
        "The same as a whole URL, used as it is.",
        "",
        shown_default="no traces",
    )
    headers: tuple[tuple[str, Secret], ...] = declare_setting(
        "OTEL_EXPORTER_OTLP_HEADERS",
        values.parse_header_list,
        "name=value pairs, separated by commas",
        "Headers for the collector, such as its key.",
        (),
        shown_default="no headers",
        secret=True,
    )
    protocol: str = declare_setting(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        values.make_choice_parser("http/protobuf"),
        "http/protobuf",
        "How traces are sent.",
        "http/protobuf",
    )
    service_name: str = declare_setting(
        "OTEL_SERVICE_NAME", str, "a name", "The name of this service in the traces.", "mcpist"
    )
    sampler: str = declare_setting(
        "OTEL_TRACES_SAMPLER",
        values.make_choice_parser(*SAMPLERS),
        "one of " + ", ".join(SAMPLERS),
        "Which requests are traced; with `parentbased_` the client's `traceparent` decides first.",
        "parentbased_always_on",
    )
    ratio: float = declare_setting(
        "OTEL_TRACES_SAMPLER_ARG",
        values.make_number_parser(0, 1),
        "a number from 0 to 1",
        "The share of requests that `traceidratio` traces.",
        1.0,
    )
    disabled: str = declare_setting(
        "OTEL_SDK_DISABLED",
        values.make_choice_parser("true", "false"),
        "true or false",
        "`true` turns traces off.",
        "false",
    )

    @property
    def url(self) -> str:
        """URL that spans are posted to; empty when tracing is off."""
        if self.disabled == "true":
            return ""
        below = f"{self.endpoint.rstrip('/')}/v1/traces" if self.endpoint else ""
        return self.traces_endpoint or below


def read_tracing_settings(environment: Mapping[str, str]) -> tuple[TracingSettings, list[str]]:
    """Read the settings and the problems in them; none without an endpoint: a host may set the rest for others."""
    field_values, problems = read_environment(TracingSettings, environment)
    if not any(environment.get(name, "").strip() for name in ENDPOINT_VARIABLES):
        return TracingSettings(), []
    return TracingSettings(**field_values), problems
