"""Each change that a page sends is undone, typed, or on the list here with its reason (decision 92)."""

import re
from collections.abc import Callable, Mapping

import pytest

from tools import console

CALL = re.compile(r"\bapi\s*\.(PUT|PATCH|DELETE)\(\s*'/api/v1/([^']*)'")
UNDO = re.compile(r"showToast\([^;]*?,\s*(?:async )?\(\) =>", re.DOTALL)
TYPED = re.compile(r"<ConfirmDestroy\b[^>]*?\btyped=\{(?!null\})", re.DOTALL)
SOURCES = console.SOURCES / "src"

EDIT = "a form with its own button, over versions: nothing ends, and what stood there can be entered again"
SECRET = "a form with its own button; the secret that stood there is known to nobody, and the form asks for the new one"
NEW = "makes something new; who does not want it removes it, which is typed"
SHOWN = "a switch that shows where it stands, and goes back by the same press"
SIGNS_IN = "nothing is lost that signing in does not bring back"
# Beside the reasons: `undo` and `typed` are checked in the file that sends, or in those that are named behind it.
CHANGES: Mapping[str, str] = {
    "api/profile.ts PATCH me": SHOWN,
    "components/Identities.tsx DELETE identities/{identity_id}": "typed",
    "pages/clients/ClientPanel.tsx DELETE oauth/clients/{client_id}": "typed",
    "pages/clients/ClientPanel.tsx PATCH oauth/clients/{client_id}": EDIT,
    "pages/clients/ConnectedClients.tsx DELETE oauth/grants/{grant_id}": "typed",
    "pages/clients/Issuers.tsx DELETE oauth/issuers": "typed",
    "pages/clients/TrustForm.tsx PUT oauth/issuers": NEW,
    "pages/identity/ClientTrust.tsx DELETE deployment/client-trust": "undo",
    "pages/identity/ClientTrust.tsx PUT deployment/client-trust": EDIT,
    "pages/identity/ProviderForm.tsx PUT deployment/identity-providers/{identity_provider_id}": SECRET,
    "pages/identity/ProviderPanel.tsx DELETE deployment/identity-providers/{identity_provider_id}": "typed",
    "pages/jobs/EditSchedule.tsx PATCH schedules/{schedule_id}": EDIT,
    "pages/jobs/NotifyField.tsx PATCH jobs/{job_id}": SHOWN,
    "pages/jobs/ScheduleActions.tsx DELETE schedules/{schedule_id}": "typed",
    "pages/logs/RetentionDialog.tsx DELETE deployment/audit-retention": "typed",
    "pages/logs/RetentionDialog.tsx PUT deployment/audit-retention": "typed",
    "pages/profile/AbsentWork.tsx DELETE mandates/{mandate_id}": "typed",
    "pages/profile/Applications.tsx DELETE oauth/grants/{grant_id}": "typed",
    "pages/profile/Browsers.tsx DELETE sessions": SIGNS_IN,
    "pages/profile/Browsers.tsx DELETE sessions/{session_id}": SIGNS_IN,
    "pages/profile/Notices.tsx PUT notification-preferences": SHOWN,
    "pages/profile/PersonalSettings.tsx PATCH me": EDIT,
    "pages/profile/Tokens.tsx DELETE tokens/{token_id}": "typed",
    "pages/requests/approve.ts DELETE users/{user_id}/roles/{role_id}": "is the undo of an approval",
    "pages/roles/RemoveRole.tsx DELETE roles/{role_id}": "typed",
    "pages/roles/RoleAccounts.tsx DELETE credentials/{credential_id}": "typed",
    "pages/roles/RoleGeneral.tsx PATCH roles/{role_id}": EDIT,
    "pages/roles/RoleMembers.tsx DELETE users/{user_id}/roles/{role_id}": "undo",
    "pages/roles/RoleMembers.tsx PUT users/{user_id}/roles/{role_id}": "undo",
    "pages/roles/savePermissions.ts PATCH roles/{role_id}/permissions": "undo pages/roles/PermissionEditor.tsx",
    "pages/roles/savePriorities.ts PATCH roles/{role_id}": "undo pages/roles/RoleOrder.tsx",
    "pages/senders/MailForm.tsx PUT deployment/notification-senders/mail": SECRET,
    "pages/senders/SendersPage.tsx DELETE deployment/notification-senders/{sender_kind}": "typed",
    "pages/senders/WebhookForm.tsx PUT deployment/notification-senders/webhook": SECRET,
    "pages/services/AddProvider.tsx PUT providers/{provider_id}": NEW,
    "pages/services/OAuthClientForm.tsx PUT services/{module}/oauth-client": SECRET,
    "pages/services/ProviderPanel.tsx DELETE providers/{provider_id}": "typed",
    "pages/services/ProviderPanel.tsx PUT providers/{provider_id}": EDIT,
    "pages/services/RemoveOAuthClient.tsx DELETE oauth-clients/{oauth_client_id}": "typed",
    "pages/services/ServicePanel.tsx PATCH services/{module}": "undo",
    "pages/services/ServiceSettings.tsx PATCH services/{module}": EDIT,
    "pages/settings/CompanySettings.tsx PATCH tenant": EDIT,
    "pages/settings/LogCollector.tsx DELETE audit-stream": "typed",
    "pages/settings/LogCollector.tsx PUT audit-stream": SECRET,
    "pages/settings/Notices.tsx PUT notification-settings": EDIT,
    "pages/settings/RoleMappings.tsx DELETE role-mappings/{mapping_id}": "undo",
    "pages/settings/TenantKeys.tsx DELETE tenant-keys/{tenant_key_kind}": "typed",
    "pages/settings/TenantKeys.tsx PUT tenant-keys/{tenant_key_kind}": SECRET,
    "pages/settings/ScimTokens.tsx DELETE scim-tokens/{scim_token_id}": "typed",
    "pages/start/guided/GuidedStart.tsx PATCH me": "the guided start stays at its address, /console?start=name",
    "pages/start/guided/NameStep.tsx PATCH me": EDIT,
    "pages/start/guided/NameStep.tsx PATCH tenant": EDIT,
    "pages/tenants/EndTenant.tsx DELETE tenants/{tenant_id}": "typed",
    "pages/tenants/queries.ts PATCH tenants/{tenant_id}": "undo pages/tenants/EndTenant.tsx",
    "pages/tools/DisconnectDialog.tsx DELETE credentials/{credential_id}": "typed",
    "pages/tools/HiddenTools.tsx DELETE access-requests/{request_id}": "undo",
    "pages/users/AllowList.tsx DELETE allow-list/{entry}": "undo",
    "pages/users/AllowList.tsx PUT allow-list/{entry}": "adds a line, whose own button takes it away",
    "pages/users/RemoveUser.tsx DELETE users/{user_id}": "typed",
    "pages/users/UserAccess.tsx DELETE mandates/{mandate_id}": "typed",
    "pages/users/UserAccess.tsx DELETE oauth/grants/{grant_id}": "typed",
    "pages/users/UserAccess.tsx DELETE sessions": SIGNS_IN,
    "pages/users/UserAccess.tsx DELETE tokens/{token_id}": "typed",
    "pages/users/UserRoles.tsx DELETE users/{user_id}/roles/{role_id}": "undo",
    "pages/users/UserRoles.tsx PUT users/{user_id}/roles/{role_id}": "undo",
    "pages/users/queries.ts PATCH users/{user_id}": "undo pages/users/SuspendUser.tsx",
}
KEPT: Mapping[str, Callable[[str], object]] = {"undo": UNDO.search, "typed": TYPED.search}


def _find_changes() -> set[str]:
    return {
        f"{file.relative_to(SOURCES).as_posix()} {method} {path}"
        for file in SOURCES.rglob("*.ts*")
        if not file.name.endswith((".d.ts", ".test.ts", ".test.tsx"))
        for method, path in CALL.findall(file.read_text("utf-8"))
    }


def test_every_change_of_a_page_is_in_the_table() -> None:
    found = _find_changes()
    assert len(found) > 50, "the way in which requests are written has changed: read them otherwise"
    assert found - CHANGES.keys() == set(), "say in CHANGES how they are undone or confirmed (decision 92)"
    assert CHANGES.keys() - found == set(), "no page sends these any more"


@pytest.mark.parametrize("change", [one for one in CHANGES if CHANGES[one].partition(" ")[0] in KEPT])
def test_what_is_to_be_undone_or_typed_is(change: str) -> None:
    kind, _, elsewhere = CHANGES[change].partition(" ")
    file = SOURCES / (elsewhere or change.partition(" ")[0])
    assert KEPT[kind](file.read_text("utf-8")), f"{file.name} has no {kind}"
