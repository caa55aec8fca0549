"""Whatever the console can do, the command line can do: each operation of the admin API that it calls is called by
`cli/client` too, or is in the list with its reason."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSOLE_CALL = re.compile(r"\.(GET|POST|PUT|PATCH|DELETE)\(\s*'/api/v1(/[^']*)'")
CONSOLE_LINK = re.compile(r"`/api/v1(/[^`?$]*)")
VERBS = {"get": "GET", "iterate": "GET", "download": "GET", "create": "POST", "delete": "DELETE"}

ELSEWHERE: Mapping[str, str] = {
    "GET /access-requests/{}": "`request list` has all of a request",
    "GET /access-requests/{}/roles": "a choice made easy: `role list` says what each role permits, `approve` checks it",
    "GET /audit": "`audit` chooses between this address and that of the deployment",
    "GET /connect-sessions": "the list of open links; `connect` follows the one that it has made",
    "GET /deployment/identity-providers/{}": "`identity-provider list` has all of a provider",
    "GET /identity-providers": "the choices of a form; `role-mapping add` takes the identifier",
    "GET /deployment/notification-senders/{}": "`notification-sender list` has all of a sender",
    "GET /oauth-clients/{}": "`oauth-client list` has all of a client",
    "GET /oauth/clients/{}": "`client list` has all of a client",
    "GET /services/{}/oauth-clients": "`oauth-client list` has those of all services",
    "GET /tenant": "`tenant list`, and `whoami` names one's own",
    "GET /tenants/{}": "`tenant list` has all of a tenant",
    "GET /tool-modules/{}": "`tool modules` has all of a module",
    "GET /users/{}/roles": "`user list` has everybody's roles",
    "POST /deployment/notification-senders/mail/test": "`notification-sender` names the kind by a variable",
    "POST /deployment/notification-senders/webhook/test": "`notification-sender` names the kind by a variable",
    "POST /sessions/current/access-token": "makes a browser's session into a token for the playground; `call` has one",
    "PUT /deployment/notification-senders/mail": "`notification-sender` names the kind by a variable",
    "PUT /deployment/notification-senders/webhook": "`notification-sender` names the kind by a variable",
    "PUT /services/{}/oauth-client": "`oauth-client set` registers the same client by its provider",
}


def test_the_command_line_calls_what_the_console_calls() -> None:
    console, client = set(_read_console()), set(_read_client())
    assert len(console) > 90, "the console's calls are written in another way now"
    assert sorted(console - client - ELSEWHERE.keys()) == []


def test_the_list_has_nothing_that_is_called() -> None:
    assert sorted(ELSEWHERE.keys() & set(_read_client())) == []
    assert sorted(ELSEWHERE.keys() - set(_read_console())) == []


def _read_console() -> Iterator[str]:
    for path in (ROOT / "admin_ui/console/src").rglob("*.ts*"):
        if path.name != "schema.d.ts" and ".test." not in path.name:
            text = path.read_text()
            for method, address in CONSOLE_CALL.findall(text):
                yield f"{method} {re.sub(r'{[^}]*}', '{}', address)}"
            for address in CONSOLE_LINK.findall(text):
                yield f"GET {address}"


def _read_client() -> Iterator[str]:
    """Calls of :class:`cli.client.admin_api.AdminApiClient`, by the verb of the method or its first argument."""
    for path in (ROOT / "cli").rglob("*.py"):
        tree = ast.parse(path.read_text())
        constants = {
            statement.targets[0].id: statement.value.value
            for statement in tree.body
            if isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                arguments = [_evaluate(argument, constants) for argument in node.args[:2]]
                if node.func.attr == "change" and len(arguments) == 2:
                    yield f"{arguments[0]} {arguments[1]}"
                elif node.func.attr in VERBS and arguments:
                    yield f"{VERBS[node.func.attr]} {arguments[0]}"


def _evaluate(node: ast.expr, constants: Mapping[str, str]) -> str:
    """The text of an address: a part that is computed stands for one name of the path."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return constants.get(node.id, "")
    if isinstance(node, ast.JoinedStr):
        return "".join(_evaluate(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _evaluate(node.value, constants) or "{}"
    return ""
