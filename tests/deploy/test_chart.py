"""deploy/helm/mcpist, rendered by helm for every combination of values that changes what is rendered; held against the
schemas of Kubernetes and against the product."""

import functools
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from cli.app import build_app
from core.config.env import list_variables
from core.config.settings import Settings
from server.deployment import DIGEST_KEY_FILE, PASSWORDS_FILE, PEPPERS_FILE, VAULT_KEYS_FILE
from server.start_files import GATEWAY_KEY_FILE, GATEWAYS_FILE
from tests.support.front import BROKER_PATHS
from tools.helm import HELM
from tools.policy import CHECKOV

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "mcpist"
URL = {"publicUrl": "https://mcp.example.com"}
KUBERNETES = ("1.34", "1.37")
CUSTOM = {"ServiceMonitor", "PrometheusRule", "HTTPRoute"}
"""Kinds that Kubernetes itself has no schema of."""
PEER = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}]
SWITCHES: dict[str, tuple[dict[str, Any], ...]] = {
    "ingress": (
        {},
        {"ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls", "annotations": {"a": "b"}}},
    ),
    "gateway api": ({}, {"gatewayApi": {"enabled": True, "parentRefs": [{"name": "public", "namespace": "infra"}]}}),
    "policies": (
        {"networkPolicy": {"enabled": False}},
        {
            "networkPolicy": {
                "ingressFrom": PEER,
                "metricsFrom": PEER,
                "extraEgress": [{"ports": [{"port": 4318}]}],
                "valkey": {"port": 6380, "to": PEER},
            }
        },
    ),
    "metrics": ({"metrics": {"enabled": False}}, {"metrics": {"serviceMonitor": {"enabled": True}}}),
    "scaling": (
        {"gateway": {"podDisruptionBudget": {"enabled": False}}},
        {"gateway": {"autoscaling": {"enabled": True}, "tolerations": [{"key": "a"}], "nodeSelector": {"a": "b"}}},
    ),
    "jobs": (
        {"migrate": {"enabled": False}, "auditRetention": {"enabled": False}},
        {"image": {"digest": f"sha256:{'a' * 64}", "pullSecrets": ["pull"]}},
    ),
    "valkey": ({}, {"valkey": {"existingSecret": "limits", "urlKey": "url", "caKey": "ca.crt"}}),
}
POLICY_WITH_VALKEY = {"valkey": {"port": 6380, "to": PEER}}
SERVING = {"gateway", "broker", "console", "worker"}
COMBINATIONS = list(itertools.product(*SWITCHES.values()))
SHORT_STEP = 7
"""Of the combinations, `make test` renders each that has this distance to the one before: no divisor of their number,
so that every two switches are tried in all four ways."""
EVERYTHING = {name: value for switch in SWITCHES.values() for name, value in switch[1].items()}

needs_helm = pytest.mark.skipif(not HELM.exists(), reason="THE CHART WAS NOT RENDERED: helm is missing (make helm)")
pytestmark = needs_helm


def helm(*arguments: str, values: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(HELM), *arguments, "--values", "-"]
    given = json.dumps(URL if values is None else values)
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)


def render(values: dict[str, Any], chart: Path = CHART) -> list[dict[str, Any]]:
    ended = helm("template", "release", str(chart), values=URL | values)
    assert ended.returncode == 0, ended.stderr
    # The parser in C, in a fiftieth of the time of the other.
    return [document for document in yaml.load_all(ended.stdout, yaml.CSafeLoader) if document]


@functools.cache
def validate(document: str, version: str) -> None:
    """Hold a document against its schema. Of what the combinations render, most is the same document."""
    kubernetes_validate.validate(json.loads(document), version, strict=True)


def pods(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The pod of each process kind."""
    found = [one["spec"] for one in documents if one["kind"] in ("Deployment", "Job")]
    found += [one["spec"]["jobTemplate"]["spec"] for one in documents if one["kind"] == "CronJob"]
    templates = [spec["template"] for spec in found]
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"] for one in templates}


def of_policy(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The rules of a process kind."""
    found = {policy["metadata"]["name"]: policy["spec"] for policy in of_kind(documents, "NetworkPolicy")}
    return found[f"release-mcpist-{kind}"]


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] == kind]


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    return render(EVERYTHING)


def test_lint() -> None:
    ended = helm("lint", "--strict", str(CHART))
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    "combination",
    [
        pytest.param(one, id=str(number), marks=[] if number % SHORT_STEP == 0 else [pytest.mark.long])
        for number, one in enumerate(COMBINATIONS)
    ],
)
def test_every_combination_is_right_by_the_schemas_of_kubernetes(combination: tuple[dict[str, Any], ...]) -> None:
    documents = render({name: value for values in combination for name, value in values.items()})
    assert {"Deployment", "Service", "ServiceAccount"} <= {document["kind"] for document in documents}
    names = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(names) == len(set(names))
    for document, version in itertools.product(documents, KUBERNETES):
        if document["kind"] not in CUSTOM:
            validate(json.dumps(document, sort_keys=True), version)


def test_the_schemas_would_name_what_is_wrong(everything: list[dict[str, Any]]) -> None:
    (service, *_) = of_kind(everything, "Service")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service | {"spec": service["spec"] | {"prots": []}}, KUBERNETES[1], strict=True)


def test_every_setting_and_command_is_the_products(everything: list[dict[str, Any]]) -> None:
    known = {variable.name for variable in list_variables(Settings).values()}
    commands = get_command(build_app()).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert pods(everything).keys() == {*SERVING, "migrate", "retention"}
    for kind, pod in pods(everything).items():
        (container,) = pod["containers"]
        plain = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        assert {one["name"] for one in container["env"]} <= known, kind
        settings = Settings.from_environment(plain)
        assert container["args"][0] in commands
        if kind in SERVING:
            ports = {port["name"]: port["containerPort"] for port in container["ports"]}
            assert ports == {"http": settings.port, "metrics": settings.metrics_port}
            assert pod["terminationGracePeriodSeconds"] >= settings.drain_delay + settings.call_timeout + 10


def test_each_process_has_its_own_account_and_secret(everything: list[dict[str, Any]]) -> None:
    accounts = {pod["serviceAccountName"] for pod in pods(everything).values()}
    assert accounts == {account["metadata"]["name"] for account in of_kind(everything, "ServiceAccount")}
    secrets = {kind: {volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
               for kind, pod in pods(everything).items()}  # fmt: skip
    assert len(accounts) == 6
    assert secrets.pop("retention") == secrets["migrate"], "both are the administrator of the database"
    assert secrets.pop("gateway") == {"mcpist-gateway", "limits"}
    assert list(map(len, secrets.values())) == [1, 1, 1, 1]
    assert len({"mcpist-gateway"}.union(*secrets.values())) == 5
    assert not any(pod["automountServiceAccountToken"] for pod in pods(everything).values())


@pytest.mark.parametrize("kind", ["gateway", "console", "worker"])
def test_gateways_and_control_plane_ask_the_brokers_service(kind: str, everything: list[dict[str, Any]]) -> None:
    (url,) = (
        one["value"] for one in pods(everything)[kind]["containers"][0]["env"] if one["name"] == "MCPIST_BROKER_URL"
    )
    services = {service["metadata"]["name"]: service for service in of_kind(everything, "Service")}
    assert url == "http://release-mcpist-broker:8080"
    assert services["release-mcpist-broker"]["spec"]["ports"][0]["port"] == 8080


def test_rules_and_dashboard_are_those_of_the_product() -> None:
    documents = render({"metrics": {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}})
    deploy = CHART.parents[1]
    rules = yaml.safe_load((deploy / "prometheus" / "rules.yaml").read_text())
    assert of_kind(documents, "PrometheusRule")[0]["spec"] == rules
    (dashboard,) = of_kind(documents, "ConfigMap")
    assert dashboard["data"]["mcpist.json"].strip() == (deploy / "grafana" / "mcpist.json").read_text().strip()


def test_keys_are_copied_to_files_that_only_their_user_reads(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    """The init container's own script, on the modes that Kubernetes gives to a secret's files."""
    (init,) = pods(everything)["broker"]["initContainers"]
    names = [PASSWORDS_FILE, DIGEST_KEY_FILE, PEPPERS_FILE, VAULT_KEYS_FILE, GATEWAY_KEY_FILE, GATEWAYS_FILE]
    secret, home = tmp_path / "secret", tmp_path / "home"
    (secret / "..data").mkdir(parents=True)
    for name in [*names, "deployment-id", "identity.toml", "database-url"]:
        (secret / "..data" / name).write_text(name)
        (secret / "..data" / name).chmod(0o440)
        (secret / name).symlink_to(f"..data/{name}")
    script = init["command"][-1].replace("/run/mcpist-secret", str(secret))
    subprocess.run([*init["command"][:-1], script], env={"MCPIST_HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True)
    made = {path.relative_to(home).as_posix(): path for path in home.rglob("*") if path.is_file()}
    assert made.keys() == {"deployment-id", "identity.toml", *(f"keys/{name}" for name in names)}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in made.values())
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in (home, home / "keys"))


def test_the_paths_of_the_broker_are_those_of_a_split_deployment(everything: list[dict[str, Any]]) -> None:
    (ingress,) = of_kind(everything, "Ingress")
    (route,) = of_kind(everything, "HTTPRoute")
    paths = [(one["path"], one["backend"]["service"]["name"].rpartition("-")[2])
             for one in ingress["spec"]["rules"][0]["http"]["paths"] if one["pathType"] == "Prefix"]  # fmt: skip
    routed = [
        (match["path"]["value"], rule["backendRefs"][0]["name"].rpartition("-")[2])
        for rule in route["spec"]["rules"]
        for match in rule["matches"]
        if match["path"]["type"] == "PathPrefix"
    ]
    assert sorted(paths) == sorted(routed)
    expected = {path.rstrip("/"): "broker" for path in BROKER_PATHS} | {
        "/api": "console",
        "/scim": "console",
        "/console": "console",
        "/": "gateway",
    }
    assert dict(paths) == expected
    assert all(len(rule["matches"]) <= 8 for rule in route["spec"]["rules"])
    assert ingress["spec"]["rules"][0]["host"] == "mcp.example.com"
    assert route["spec"]["hostnames"] == ["mcp.example.com"]


def test_a_policy_lets_nothing_in_that_is_not_named(everything: list[dict[str, Any]]) -> None:
    closed = {policy["metadata"]["name"]: policy["spec"] for policy in of_kind(render({}), "NetworkPolicy")}
    assert len(closed) == 6
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in closed.values())
    sources = {name.rpartition("-")[2]: policy["ingress"] or [] for name, policy in closed.items()}
    assert [sources[kind] for kind in ("console", "worker", "migrate", "retention")] == [[]] * 4
    for kind, expected in (("broker", ["gateway", "console", "worker"]), ("gateway", ["console"])):
        (source,) = sources[kind]
        labels = [one["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for one in source["from"]]
        assert labels == expected
    opened = {policy["metadata"]["name"]: policy["spec"] for policy in of_kind(everything, "NetworkPolicy")}
    assert {port["port"] for rule in opened["release-mcpist-gateway"]["ingress"] for port in rule["ports"]} == {
        "http",
        "metrics",
    }
    for kind in ("migrate", "retention"):
        assert not any("443" in str(rule) for rule in closed[f"release-mcpist-{kind}"]["egress"])


def test_valkey_is_reached_by_gateways_alone_and_only_where_there_is_one(everything: list[dict[str, Any]]) -> None:
    for documents, reaching in ((everything, {"gateway"}), (render({"networkPolicy": POLICY_WITH_VALKEY}), set[str]())):
        opened = {policy["metadata"]["name"].rpartition("-")[2]: policy["spec"]["egress"]
                  for policy in of_kind(documents, "NetworkPolicy")}  # fmt: skip
        assert {kind for kind, rules in opened.items() if '"port": 6380' in json.dumps(rules)} == reaching
        having = {kind for kind, pod in pods(documents).items() if "MCPIST_REDIS" in json.dumps(pod)}
        assert having == reaching
    (rule,) = (rule for rule in of_policy(everything, "gateway")["egress"] if rule.get("to") == PEER)
    assert rule["ports"] == [{"protocol": "TCP", "port": 6380}]
    environment = {one["name"]: one for one in pods(everything)["gateway"]["containers"][0]["env"]}
    assert environment["MCPIST_REDIS_URL"]["valueFrom"] == {"secretKeyRef": {"name": "limits", "key": "url"}}
    assert environment["MCPIST_REDIS_CA_FILE"]["value"] == "/run/valkey/ca.pem"
    (mount,) = (one for one in pods(everything)["gateway"]["containers"][0]["volumeMounts"] if "valkey" in one["name"])
    assert mount == {"name": "valkey-ca", "mountPath": "/run/valkey", "readOnly": True}


def test_a_gateway_without_a_certificate_of_its_own_has_no_file_of_it() -> None:
    pod = pods(render({"valkey": {"existingSecret": "limits"}}))["gateway"]
    environment = {one["name"]: one for one in pod["containers"][0]["env"]}
    assert environment["MCPIST_REDIS_URL"]["valueFrom"]["secretKeyRef"]["key"] == "redis-url"
    assert "valkey-ca" not in json.dumps(pod)


def test_the_cron_job_shortens_the_audit_log_as_the_products_command_does(everything: list[dict[str, Any]]) -> None:
    (container,) = pods(everything)["retention"]["containers"]
    *words, option = container["args"]
    command: Any = get_command(build_app())
    for word in words:
        command = command.commands[word]
    assert option in {name for parameter in command.params for name in parameter.opts}


def test_the_job_and_what_it_needs_come_before_everything_else(everything: list[dict[str, Any]]) -> None:
    hooks = [one for one in everything if one["metadata"].get("annotations", {}).get("helm.sh/hook")]
    weights = {one["kind"]: int(one["metadata"]["annotations"]["helm.sh/hook-weight"]) for one in hooks}
    assert weights.keys() == {"ServiceAccount", "NetworkPolicy", "Job"}
    assert weights["Job"] > max(weights["ServiceAccount"], weights["NetworkPolicy"])
    assert all(one["metadata"]["name"] == "release-mcpist-migrate" for one in hooks)


def test_a_tag_of_the_brokers_own_moves_the_schema_and_the_broker_before_the_others() -> None:
    images = {kind: pod["containers"][0]["image"] for kind, pod in pods(render({"broker": {"tag": "9.9.9"}})).items()}
    assert images.pop("migrate") == images.pop("retention") == images.pop("broker") == "mcpist:9.9.9"
    assert set(images.values()) == {"mcpist:0.1.0"}


def test_rules_and_dashboard_are_taken_where_they_are(tmp_path: Path) -> None:
    monitoring = {"metrics": {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}}
    chart = tmp_path / "mcpist"
    shutil.copytree(CHART, chart)
    shutil.rmtree(chart / "files", ignore_errors=True)
    assert not of_kind(render(monitoring, chart), "PrometheusRule")
    (chart / "files").mkdir()
    (chart / "files" / "rules.yaml").write_text("groups:\n  - name: a\n    rules: []\n")
    (chart / "files" / "mcpist.json").write_text('{\n  "title": "{{ $labels.x }}"\n}\n')
    documents = render(monitoring, chart)
    assert of_kind(documents, "PrometheusRule")[0]["spec"] == {"groups": [{"name": "a", "rules": []}]}
    (dashboard,) = of_kind(documents, "ConfigMap")
    assert json.loads(dashboard["data"]["mcpist.json"]) == {"title": "{{ $labels.x }}"}


def wrong_values() -> Iterator[Any]:
    """Values, and the name by which the error has to call what is wrong."""
    yield pytest.param({}, "/publicUrl", id="no public URL")
    yield pytest.param({"publicUrl": "https://mcp.example.com/path"}, "/publicUrl", id="a path")
    yield pytest.param(URL | {"gatewey": {}}, "gatewey", id="an unknown value")
    yield pytest.param(URL | {"gateway": {"replica": 2}}, "replica", id="an unknown value of a process")
    yield pytest.param(URL | {"gateway": {"replicas": "two"}}, "/gateway/replicas", id="no number")
    yield pytest.param(URL | {"console": {"replicas": 2}}, "/console/replicas", id="two control planes")
    yield pytest.param(URL | {"drainDelaySeconds": 601}, "/drainDelaySeconds", id="too long")
    yield pytest.param(URL | {"image": {"digest": "sha256:1"}}, "/image/digest", id="a short digest")
    yield pytest.param(URL | {"secrets": {"broker": ""}}, "/secrets/broker", id="no secret")
    yield pytest.param(URL | {"settings": {"MCPIST_PORT": "1"}}, "MCPIST_PORT", id="a setting of the chart's own")
    yield pytest.param(URL | {"settings": {"PATH": "/"}}, "PATH", id="no setting of MCPist")
    yield pytest.param(URL | {"settings": {"MCPIST_WORKERS": 2}}, "MCPIST_WORKERS", id="a number for a text")
    yield pytest.param(URL | {"gatewayApi": {"enabled": True}}, "/gatewayApi/parentRefs", id="no parent")
    yield pytest.param(URL | {"metrics": {"port": 8080}}, "/metrics/port", id="the same port")
    yield pytest.param(
        URL | {"settings": {"MCPIST_REDIS_URL": "redis://x"}}, "MCPIST_REDIS_URL", id="a password in plain"
    )
    yield pytest.param(
        URL | {"valkey": {"existingSecret": "Limits"}}, "/valkey/existingSecret", id="no name of a secret"
    )
    yield pytest.param(URL | {"valkey": {"urlKey": "a/b"}}, "/valkey/urlKey", id="no entry of a secret")
    yield pytest.param(URL | {"valkey": {"url": "redis://x"}}, "url", id="a URL in plain")
    yield pytest.param(URL | {"networkPolicy": {"valkey": {"port": 0}}}, "/networkPolicy/valkey/port", id="no port")
    yield pytest.param(URL | {"auditRetention": {"schedule": "hourly"}}, "/auditRetention/schedule", id="no schedule")
    yield pytest.param(URL | {"trustedProxies": ["proxy.internal"]}, "/trustedProxies/0", id="a name for an address")
    yield pytest.param(
        URL | {"gateway": {"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 2}}},
        "gateway.autoscaling.minReplicas (5) is more than gateway.autoscaling.maxReplicas (2)",
        id="less than least",
    )


@pytest.mark.parametrize(("values", "named"), [*wrong_values()])
def test_a_wrong_value_is_named_when_it_is_rendered(values: dict[str, Any], named: str) -> None:
    ended = helm("template", "release", str(CHART), values=values)
    assert ended.returncode == 1
    assert named in ended.stderr


def test_the_chart_has_the_version_of_the_product() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[2] / "pyproject.toml").read_text()
    assert re.search(rf'^version = "{re.escape(chart["appVersion"])}"$', project, re.MULTILINE)


ACCEPTED = {
    "CKV_K8S_11": "a limit of CPU throttles calls that one process answers; memory has one",
    "CKV_K8S_14": "the tag is the chart's version, or one that the values name",
    "CKV_K8S_15": "a version is pulled once; what moves under one name is no version",
    "CKV_K8S_35": "the product reads its database's URL from a variable",
    "CKV_K8S_43": "a digest is the values' choice",
    "CKV_K8S_21": "the namespace is the release's",
    "CKV_K8S_8": "the job has no probe: it ends",
    "CKV_K8S_9": "the job has no probe: it ends",
}


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.skipif(not CHECKOV.exists(), reason="THE POLICY CHECK DID NOT RUN: checkov is missing (make policy)")
def test_the_policy_check_finds_nothing_that_was_not_judged(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    def failed(documents: list[dict[str, Any]]) -> set[str]:
        (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(documents))
        command = [str(CHECKOV), "--framework", "kubernetes", "--file", "all.yaml", "--output", "json", "--quiet",
                   "--skip-download"]  # fmt: skip
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        return {one["check_id"] for one in json.loads(ended.stdout).get("results", {}).get("failed_checks", [])}

    assert not failed(everything) - ACCEPTED.keys()
    (deployment, *_) = of_kind(everything, "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["securityContext"] = {"privileged": True}
    assert "CKV_K8S_16" in failed([deployment])
