from pathlib import Path

import pytest

from core.config.settings import Settings
from core.errors import Invalid
from tools import configuration_doc


def read(**environment: str) -> Settings:
    return Settings.from_environment({"HOME": "/users/kei", **environment}, user_id=1000)


def problem(**environment: str) -> str:
    with pytest.raises(Invalid) as caught:
        read(**environment)
    return str(caught.value)


def test_an_empty_environment_is_enough() -> None:
    settings = read()
    assert (settings.host, settings.port, settings.public_url) == ("127.0.0.1", 8080, "http://127.0.0.1:8080")
    assert settings.database_url is None
    assert settings.metrics_port == 0
    assert settings.tracing.url == ""


@pytest.mark.parametrize(
    ("environment", "user_id", "home"),
    [
        ({"HOME": "/root"}, 0, "/var/lib/mcpist"),
        ({"HOME": "/root", "XDG_DATA_HOME": "/data"}, 0, "/var/lib/mcpist"),
        ({"HOME": "/users/kei"}, 1000, "/users/kei/.local/share/mcpist"),
        ({"HOME": "/users/kei", "XDG_DATA_HOME": "/data"}, 1000, "/data/mcpist"),
        ({"HOME": "/users/kei", "XDG_DATA_HOME": "relative"}, 1000, "/users/kei/.local/share/mcpist"),
        ({"HOME": "/root", "MCPIST_HOME": "/srv/my mcpist"}, 0, "/srv/my mcpist"),
    ],
)
def test_the_data_folder(environment: dict[str, str], user_id: int, home: str) -> None:
    assert Settings.from_environment(environment, user_id=user_id).home == Path(home)


def test_a_relative_data_folder_becomes_absolute() -> None:
    assert read(MCPIST_HOME="data").home == Path.cwd() / "data"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:9000"),
        ("::", "http://127.0.0.1:9000"),
        ("::1", "http://[::1]:9000"),
        ("[::1]", "http://[::1]:9000"),
        ("192.168.1.5", "http://192.168.1.5:9000"),
        ("localhost", "http://localhost:9000"),
    ],
)
def test_the_public_url_follows_host_and_port(host: str, url: str) -> None:
    assert read(MCPIST_HOST=host, MCPIST_PORT="9000").public_url == url


def test_urls_and_origins_get_the_form_that_browsers_send() -> None:
    settings = read(
        MCPIST_PUBLIC_URL="https://MCP.Example.com:443/",
        MCPIST_ALLOWED_ORIGINS="https://App.example.com, http://localhost:3000/, http://LOCALHOST:*",
    )
    assert settings.public_url == "https://mcp.example.com"
    assert settings.allowed_origins == ("https://app.example.com", "http://localhost:3000", "http://localhost:*")


def test_lists() -> None:
    settings = read(MCPIST_TRUSTED_PROXIES="10.0.0.0/8, ::1", MCPIST_ALLOWED_ORIGINS="none")
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1/128")
    assert settings.allowed_origins == ()


def test_who_operates_the_deployment_is_a_tenant_or_nobody() -> None:
    assert read().operator_tenant == "default"
    assert read(MCPIST_OPERATOR_TENANT="ops-team").operator_tenant == "ops-team"
    assert read(MCPIST_OPERATOR_TENANT="None").operator_tenant == ""


def test_nothing_counts_as_not_set() -> None:
    assert read(MCPIST_PORT=" ", MCPIST_DATABASE_URL="") == read()


def test_secrets_are_wrapped() -> None:
    settings = read(
        MCPIST_DATABASE_URL="postgresql://kei:hunter2@db/mcpist",
        MCPIST_TOKEN="hunter2",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://collector:4318",
        OTEL_EXPORTER_OTLP_HEADERS="Api-Key=hunter2,x=a%20b",
    )
    assert "hunter2" not in repr(settings)
    assert settings.database_url is not None
    assert settings.database_url.reveal() == "postgresql://kei:hunter2@db/mcpist"
    assert [(name, value.reveal()) for name, value in settings.tracing.headers] == [
        ("api-key", "hunter2"),
        ("x", "a b"),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MCPIST_OPERATOR_TENANT", "Default"),
        ("MCPIST_OPERATOR_TENANT", "ada@acme.example"),
        ("MCPIST_PORT", "0"),
        ("MCPIST_PORT", "65536"),
        ("MCPIST_PORT", "8_080"),
        ("MCPIST_PORT", "８０８０"),
        ("MCPIST_HOST", "a b"),
        ("MCPIST_HOST", "http://localhost"),
        ("MCPIST_HOME", "~/mcpist"),
        ("MCPIST_PUBLIC_URL", "mcp.example.com"),
        ("MCPIST_PUBLIC_URL", "https://mcp.example.com/mcp"),
        ("MCPIST_PUBLIC_URL", "https://mcp.example.com?"),
        ("MCPIST_PUBLIC_URL", "https://mcp.example.com:99999"),
        ("MCPIST_PUBLIC_URL", "ftp://mcp.example.com"),
        ("MCPIST_PUBLIC_URL", "https://"),
        ("MCPIST_ALLOWED_ORIGINS", "*"),
        ("MCPIST_ALLOWED_ORIGINS", "https://a.example,null"),
        ("MCPIST_TRUSTED_PROXIES", "proxy.example.com"),
        ("MCPIST_DATABASE_URL", "mysql://db/mcpist"),
        ("MCPIST_CALL_TIMEOUT", "nan"),
        ("MCPIST_CALL_TIMEOUT", "0"),
        ("MCPIST_CALL_TIMEOUT", "1e9"),
        ("MCPIST_RATE_PER_SECOND", "-1"),
        ("MCPIST_LOG_FORMAT", "xml"),
        ("MCPIST_LOG_LEVEL", "loud"),
        ("MCPIST_METRICS_PORT", "off"),
    ],
)
def test_a_wrong_value_names_its_variable_and_the_form(name: str, value: str) -> None:
    assert problem(**{name: value}).startswith(f"{name} must be ")


def test_all_problems_are_told_at_once() -> None:
    text = problem(MCPIST_PORT="x", MCPIST_CALL_TIMEOUT="soon", MCPIST_HOSTS="a")
    assert [line.split(" ")[0] for line in text.splitlines()] == ["MCPIST_PORT", "MCPIST_CALL_TIMEOUT", "MCPIST_HOSTS"]


@pytest.mark.parametrize(
    "environment",
    [
        {"MCPIST_DATABASE_URL": "hunter2"},
        {"MCPIST_PUBLIC_URL": "https://kei:hunter2@example.com"},
        {"MCPIST_URL": "https://kei:hunter2@example.com"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "hunter2"},
    ],
)
def test_no_message_repeats_a_secret(environment: dict[str, str]) -> None:
    assert "hunter2" not in problem(**environment)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("MCPIST_PROT", "MCPIST_PORT"),
        ("MCPIST_DATABSE_URL", "MCPIST_DATABASE_URL"),
        ("MCPIST_ORIGINS", "MCPIST_ALLOWED_ORIGINS"),
    ],
)
def test_an_unknown_variable_names_the_nearest(wrong: str, right: str) -> None:
    assert problem(**{wrong: "1"}) == f"{wrong} is not a setting of MCPist: did you mean {right}?"


def test_an_unknown_variable_far_from_all() -> None:
    assert "docs/configuration.md" in problem(MCPIST_ZZZ="1")


def test_a_kubernetes_service_link_is_recognised() -> None:
    assert "enableServiceLinks" in problem(MCPIST_PORT="tcp://10.0.0.1:8080")


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}, "http://c:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/here"}, "http://c:4318/here"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, ""),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ""),
    ],
)
def test_where_traces_go(environment: dict[str, str], url: str) -> None:
    assert read(**environment).tracing.url == url


def test_a_protocol_that_is_not_spoken_is_refused_when_it_matters() -> None:
    text = problem(OTEL_EXPORTER_OTLP_ENDPOINT="http://c:4317", OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert text == "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not 'grpc'."


def test_the_page_of_all_variables_is_up_to_date() -> None:
    page = configuration_doc.PAGE.read_text(encoding="utf-8")
    assert configuration_doc.render(page) == page, "run: python -m tools.configuration_doc"
    assert "`MCPIST_PORT`" in page
    assert "`OTEL_TRACES_SAMPLER`" in page
