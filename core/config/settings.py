"""Settings of MCPist: variable, form and default of each. docs/configuration.md is made from these classes.

Only the command line reads the environment; it hands the mapping to :meth:`Settings.from_environment`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.config import parsers as values
from core.config.env import declare_setting, get_default_home, list_unknown_variables, read_environment
from core.config.search import SearchSettings, read_search_settings
from core.config.tracing import TracingSettings, read_tracing_settings
from core.errors import Invalid
from core.secret import Secret

VARIABLE_PREFIX = "MCPIST_"
MAX_WORKERS = 64
LOOPBACK_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process; secrets are wrapped, folders absolute, origins in the form browsers send."""

    home: Path = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_HOME",
        values.parse_path,
        "a folder",
        "The data folder: embedded Postgres, keys, state.",
        Path("/var/lib/mcpist"),
        shown_default="as root `/var/lib/mcpist`, else `$XDG_DATA_HOME/mcpist` or `~/.local/share/mcpist`",
    )
    host: str = declare_setting(
        "MCPIST_HOST",
        values.parse_host,
        "an address or host name",
        "Where MCPist listens; `0.0.0.0` for every address.",
        "127.0.0.1",
    )
    port: int = declare_setting(
        "MCPIST_PORT",
        values.make_integer_parser(1, 65535),
        "a port from 1 to 65535",
        "The port that MCPist listens on.",
        8080,
    )
    public_url: str = declare_setting(
        "MCPIST_PUBLIC_URL",
        values.parse_base_url,
        "a URL such as https://mcp.example.com, without a path",
        "The URL that clients and browsers use; requests for another host are refused.",
        "",
        shown_default="`http://`, host and port; `127.0.0.1` where MCPist listens on every address",
    )
    trusted_proxies: tuple[str, ...] = declare_setting(
        "MCPIST_TRUSTED_PROXIES",
        values.make_list_parser(values.parse_network),
        "addresses or networks, separated by commas",
        "Proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are trusted.",
        (),
        shown_default="no proxy",
    )
    workers: int = declare_setting(
        "MCPIST_WORKERS",
        values.make_integer_parser(1, MAX_WORKERS),
        f"a whole number from 1 to {MAX_WORKERS}",
        "For `mcpist up`: processes that serve the port; at most one for each core.",
        1,
    )
    allowed_origins: tuple[str, ...] = declare_setting(
        "MCPIST_ALLOWED_ORIGINS",
        values.make_list_parser(values.parse_origin),
        "origins such as https://app.example.com, separated by commas, or none",
        "Browser origins, beside the public URL's own, that may call `/mcp`; `:*` is any port.",
        LOOPBACK_ORIGINS,
        shown_default=f"this machine's, for the MCP Inspector: `{','.join(LOOPBACK_ORIGINS)}`",
    )
    allowed_private_hosts: tuple[str, ...] = declare_setting(
        "MCPIST_ALLOWED_PRIVATE_HOSTS",
        values.make_list_parser(values.parse_host_and_port),
        "hosts with a port such as github.example.com:443, separated by commas, or none",
        "Vendor hosts that may lie in a private network, use `http` or a port other than 443.",
        (),
        shown_default="no host",
    )
    database_url: Secret | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_DATABASE_URL",
        values.parse_database_url,
        "a URL such as postgresql://user:password@host/database",
        "An own Postgres (16 or newer), as a role that may create roles; split, each process logs in as "
        "`mcpist_gateway`, `mcpist_broker`, `mcpist_console` or `mcpist_worker`.",
        None,
        shown_default="the embedded Postgres",
        secret=True,
    )
    database_password_file: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_DATABASE_PASSWORD_FILE",
        values.parse_path,
        "a file",
        "For a process with the login of one role: its password, read at every login, so that it can change without a "
        "restart. During a rotation it may have two lines, and each is tried.",
        None,
        shown_default="the password in `MCPIST_DATABASE_URL`",
    )
    new_role_passwords: str = declare_setting(
        "MCPIST_NEW_ROLE_PASSWORDS",
        values.make_choice_parser("no", "yes"),
        "yes or no",
        "`yes` for `mcpist migrate`: give MCPist's database roles new passwords; processes on this data folder go on. "
        "For a command on a folder without the passwords: likewise, which ends every MCPist on that Postgres.",
        "no",
    )
    broker_url: str = declare_setting(
        "MCPIST_BROKER_URL",
        values.parse_broker_url,
        "a URL such as https://broker.internal:8443, or unix:/path/of/a/socket",
        "For `mcpist gateway`, `console` and `worker`: the broker, if it is a separate process. For `mcpist broker`: a "
        "socket to listen on.",
        "",
        shown_default="the gateway's own process; `MCPIST_HOST` and `MCPIST_PORT`",
    )
    gateway_url: str = declare_setting(
        "MCPIST_GATEWAY_URL",
        values.parse_base_url,
        "a URL such as http://gateway.internal:8080",
        "For `mcpist console`: a gateway, which makes the schedules that are asked for at the admin API.",
        "",
        shown_default="the public URL",
    )
    gateway_key: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_GATEWAY_KEY",
        values.parse_path,
        "a file",
        "With `MCPIST_BROKER_URL`: this gateway's private key (Ed25519, PEM).",
        None,
        shown_default="`keys/gateway.pem` in the data folder",
    )
    broker_gateways: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_BROKER_GATEWAYS",
        values.parse_path,
        "a file",
        "For `mcpist broker`: the public keys (PEM) of the gateways that it serves.",
        None,
        shown_default="`keys/gateways.pem` in the data folder",
    )
    console_key: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_CONSOLE_KEY",
        values.parse_path,
        "a file",
        "For `mcpist console`: its private key (Ed25519, PEM).",
        None,
        shown_default="`keys/console.pem` in the data folder",
    )
    broker_consoles: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_BROKER_CONSOLES",
        values.parse_path,
        "a file",
        "For `mcpist broker`: the public keys (PEM) of the control planes (`mcpist console`) that it serves.",
        None,
        shown_default="`keys/consoles.pem` in the data folder, if it is there",
    )
    worker_key: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_WORKER_KEY",
        values.parse_path,
        "a file",
        "For `mcpist worker`: its private key (Ed25519, PEM).",
        None,
        shown_default="`keys/worker.pem` in the data folder",
    )
    broker_workers: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_BROKER_WORKERS",
        values.parse_path,
        "a file",
        "For `mcpist broker`: the public keys (PEM) of the workers (`mcpist worker`) that it serves.",
        None,
        shown_default="`keys/workers.pem` in the data folder, if it is there",
    )
    keys: tuple[str, ...] = declare_setting(
        "MCPIST_KEYS",
        values.parse_key_providers,
        "file, aws-kms:ARN, gcp-kms:NAME or vault-transit:URL, or several of them, separated by commas",
        "Key providers of the vault: the first wraps new keys, the others still unwrap old ones; see operations.md.",
        ("file",),
        shown_default="`file`: `keys/vault-kek.json` in the data folder",
    )
    transit_token: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_TRANSIT_TOKEN_FILE",
        values.parse_path,
        "a file",
        "With `vault-transit`: HashiCorp Vault's token, read each time; none is sent where the file is missing.",
        None,
        shown_default="`keys/transit-token` in the data folder",
    )
    identity_file: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_IDENTITY_FILE",
        values.parse_path,
        "a file",
        "Identity providers and the authorization server (TOML); readable by its owner only.",
        None,
        shown_default="`identity.toml` in the data folder",
    )
    notices_file: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_NOTICES_FILE",
        values.parse_path,
        "a file",
        "Notifications to owners of broken accounts: mail, webhook (TOML); readable by its owner only.",
        None,
        shown_default="`notices.toml` in the data folder",
    )
    authorization_server: str = declare_setting(
        "MCPIST_AUTHORIZATION_SERVER",
        values.parse_endpoint_url,
        "the issuer URL of an authorization server",
        "For a gateway beside a broker that trusts another authorization server: its issuer, as the broker knows it.",
        "",
        shown_default="`external.issuer` of the identity file, or MCPist itself",
    )
    operator_tenant: str = declare_setting(
        "MCPIST_OPERATOR_TENANT",
        values.parse_slug,
        "the slug of a tenant, or none",
        "The tenant whose administrators operate the whole deployment over the network: they make and remove tenants.",
        "default",
        shown_default="`default`, which the first start makes",
    )
    postgres_user: str = declare_setting(
        "MCPIST_POSTGRES_USER",
        values.parse_host,
        "the name of a system user",
        "The system user that the embedded Postgres runs as when root starts MCPist.",
        "nobody",
    )
    call_timeout: float = declare_setting(
        "MCPIST_CALL_TIMEOUT",
        values.make_number_parser(0.1, 3600),
        "seconds from 0.1 to 3600",
        "Seconds after which a call, or a whole batch, is cancelled.",
        60.0,
    )
    job_patience: float = declare_setting(
        "MCPIST_JOB_PATIENCE",
        values.make_number_parser(0, 3600),
        "seconds from 0 to 3600",
        "Seconds that a call of an asynchronous tool waits for its job before it answers with the job's id; always "
        "fewer than a call may take.",
        45.0,
    )
    drain_delay: float = declare_setting(
        "MCPIST_DRAIN_DELAY",
        values.make_number_parser(0, 600),
        "seconds from 0 to 600",
        "Seconds after SIGTERM in which `/readyz` answers 503 and everything is still served, so that load balancers "
        "can stop sending; then the listener closes.",
        0.0,
    )
    rate_per_second: float = declare_setting(
        "MCPIST_RATE_PER_SECOND",
        values.make_number_parser(0.01, 1_000_000),
        "a number from 0.01 to 1000000",
        "Requests a second that one user may make over time; all workers of a host count together.",
        200.0,
    )
    rate_burst: int = declare_setting(
        "MCPIST_RATE_BURST",
        values.make_integer_parser(1, 1_000_000),
        "a whole number from 1 to 1000000",
        "Burst: requests that one user may make at once before the rate applies.",
        2000,
    )
    concurrency: int = declare_setting(
        "MCPIST_CONCURRENCY",
        values.make_integer_parser(1, 100_000),
        "a whole number from 1 to 100000",
        "Requests of one user that may run at the same time; all workers of a host count together.",
        128,
    )
    redis_url: Secret | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_REDIS_URL",
        values.parse_redis_url,
        "a URL such as rediss://user:password@host:6379/0",
        "Valkey or Redis, through which all processes of a deployment share the rate limits of users; `rediss` is TLS.",
        None,
        shown_default="none: each host counts for itself",
        secret=True,
    )
    redis_password: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_REDIS_PASSWORD_FILE",
        values.parse_path,
        "a file",
        "With `MCPIST_REDIS_URL`: the password, in place of the URL's; readable by its owner only.",
        None,
        shown_default="the password in the URL, if any",
    )
    redis_ca: Path | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_REDIS_CA_FILE",
        values.parse_path,
        "a file",
        "With `rediss`: certificates (PEM) of the authorities that are trusted.",
        None,
        shown_default="the system's authorities",
    )
    calls_at_once: int = declare_setting(
        "MCPIST_CALLS_AT_ONCE",
        values.make_integer_parser(1, 10_000),
        "a whole number from 1 to 10000",
        "Calls that a process works on at the same time while several tenants call; others wait, and tenants take "
        "turns. A call that waits for its vendor does not count.",
        8,
    )
    jobs_at_once: int = declare_setting(
        "MCPIST_JOBS_AT_ONCE",
        values.make_integer_parser(0, 1_000),
        "a whole number from 0 to 1000",
        "Jobs that this process runs at the same time (`mcpist up`, `mcpist worker`); 0 leaves all to other processes.",
        16,
    )
    jobs_of_tenant: int = declare_setting(
        "MCPIST_JOBS_OF_TENANT",
        values.make_integer_parser(1, 1_000),
        "a whole number from 1 to 1000",
        "Jobs of one tenant that run at the same time in all processes.",
        8,
    )
    jobs_of_user: int = declare_setting(
        "MCPIST_JOBS_OF_USER",
        values.make_integer_parser(0, 1_000),
        "a whole number from 0 to 1000",
        "Jobs of one person that run at the same time in all processes; 0 is half of `MCPIST_JOBS_OF_TENANT`.",
        0,
    )
    jobs_of_module: int = declare_setting(
        "MCPIST_JOBS_OF_MODULE",
        values.make_integer_parser(0, 1_000),
        "a whole number from 0 to 1000",
        "Jobs of one tenant with one module, so with one vendor, that run at the same time in all processes; 0 is half "
        "of `MCPIST_JOBS_OF_TENANT`.",
        0,
    )
    connections: int = declare_setting(
        "MCPIST_CONNECTIONS",
        values.make_integer_parser(16, 100_000),
        "a whole number from 16 to 100000",
        "Connections that a worker has open at most, and at most half of the files that it may open. Each takes about "
        "4 KiB while it rests.",
        4096,
    )
    streams: int = declare_setting(
        "MCPIST_STREAMS",
        values.make_integer_parser(0, 100_000),
        "a whole number from 0 to 100000",
        "Streams on which a worker tells clients of changes, among its connections; reserve 20 KiB of memory for each, "
        "so 20 MiB for 1000.",
        2000,
    )
    streams_per_tenant: int = declare_setting(
        "MCPIST_STREAMS_PER_TENANT",
        values.make_integer_parser(0, 100_000),
        "a whole number from 0 to 100000",
        "Streams that the clients of one tenant may have open at a worker; 0 is three quarters of `MCPIST_STREAMS`.",
        0,
    )
    streams_per_credential: int = declare_setting(
        "MCPIST_STREAMS_PER_CREDENTIAL",
        values.make_integer_parser(1, 100_000),
        "a whole number from 1 to 100000",
        "Streams that the clients of one credential may have open at a worker.",
        8,
    )
    connections_per_address: int = declare_setting(
        "MCPIST_CONNECTIONS_PER_ADDRESS",
        values.make_integer_parser(1, 1_000_000),
        "a whole number from 1 to 1000000",
        "Connections that one client address (IPv6: one /64) may have open at a worker, unless it is a trusted proxy.",
        256,
    )
    failed_auth_per_minute: int = declare_setting(
        "MCPIST_FAILED_AUTH_PER_MINUTE",
        values.make_integer_parser(1, 1_000_000),
        "a whole number from 1 to 1000000",
        "Failed authentications a minute per client address (IPv6: one /64) before it has to wait.",
        60,
    )
    audit_keep_months: int = declare_setting(
        "MCPIST_AUDIT_KEEP_MONTHS",
        values.make_integer_parser(0, 1_200),
        "a whole number from 0 to 1200",
        "Whole months of the audit log that are kept at most, of all tenants; older ones are deleted. 0 keeps all. An "
        "operator can store less (`mcpist audit retention`).",
        0,
    )
    search_quota_mb: int = declare_setting(
        "MCPIST_SEARCH_QUOTA_MB",
        values.make_integer_parser(1, 1_000_000),
        "a whole number from 1 to 1000000",
        "Mebibytes that the documents and memos of one tenant may take, with their vectors and words.",
        1024,
    )
    metrics_host: str = declare_setting(
        "MCPIST_METRICS_HOST",
        values.parse_host,
        "an address or host name",
        "Where the metrics port listens.",
        "127.0.0.1",
    )
    metrics_port: int = declare_setting(
        "MCPIST_METRICS_PORT",
        values.make_integer_parser(0, 65535),
        "a port from 1 to 65535, or 0 for none",
        "The port of `/metrics` for Prometheus, such as 9464; 0 for none.",
        0,
    )
    log_format: str = declare_setting(
        "MCPIST_LOG_FORMAT",
        values.make_choice_parser("auto", "json", "text"),
        "auto, json or text",
        "The form of the log on standard error; `auto` is text on a terminal, else JSON lines.",
        "auto",
    )
    log_file: str = declare_setting(
        "MCPIST_LOG_FILE",
        values.make_choice_parser("auto", "yes", "no"),
        "auto, yes or no",
        "For `mcpist up`: keep the newest 32 MB of the log in the data folder, for `mcpist logs`; `auto` does unless "
        "systemd's journal takes standard error.",
        "auto",
    )
    log_level: str = declare_setting(
        "MCPIST_LOG_LEVEL",
        values.make_choice_parser("debug", "info", "warning", "error"),
        "debug, info, warning or error",
        "The lowest level that is logged.",
        "info",
    )
    url: str = declare_setting(
        "MCPIST_URL",
        values.parse_endpoint_url,
        "a URL such as https://mcp.example.com",
        "For `mcpist stdio`: the MCPist to relay to.",
        "",
        shown_default="the data folder's own MCPist",
    )
    token: Secret | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "MCPIST_TOKEN",
        values.wrap_secret,
        "an API token",
        "For `mcpist stdio` with `MCPIST_URL`, and for commands with `MCPIST_SERVER`: the API token to use.",
        None,
        shown_default="no token; of the commands, the login that `mcpist login` keeps",
        secret=True,
    )
    server: str = declare_setting(
        "MCPIST_SERVER",
        values.parse_endpoint_url,
        "a URL such as https://mcp.example.com",
        "For administrative commands: the MCPist to act at by its admin API, as `--server` says it too.",
        "",
        shown_default="this machine's own MCPist; where there is none, the one that `mcpist login` has signed in to",
    )
    tenant: str = declare_setting(
        "MCPIST_TENANT",
        values.parse_slug,
        "the slug of a tenant, or none",
        "For commands on this machine: the tenant that they are about, as `--tenant` says it too.",
        "",
        shown_default="the only tenant",
    )
    tracing: TracingSettings = field(default_factory=TracingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        if not self.public_url:
            object.__setattr__(self, "public_url", f"http://{values.get_reachable_host(self.host)}:{self.port}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, user_id: int | None = None) -> "Settings":
        """Read every ``MCPIST_`` variable, OpenTelemetry's and those of search; one set to nothing counts as not set.

        `user_id` is the operating system's, for the default data folder; None means the user of this process.

        Raises:
            Invalid: a variable is unknown or has the wrong form; the text names each, and what was expected.
        """
        field_values, problems = read_environment(cls, environment)
        tracing, tracing_problems = read_tracing_settings(environment)
        search, search_problems = read_search_settings(environment)
        problems += [*tracing_problems, *search_problems, *list_unknown_variables(cls, environment, VARIABLE_PREFIX)]
        if problems:
            raise Invalid("\n".join(problems))
        field_values.setdefault("home", get_default_home(environment, os.geteuid() if user_id is None else user_id))
        return cls(**field_values, tracing=tracing, search=search)
