"""The texts of the pages of connecting in English: a part of broker.web.locales.en."""

from collections.abc import Mapping

MESSAGES: Mapping[str, str] = {
    "connect.list.title": "Connect your accounts",
    "connect.list.lead": "{email} in {tenant}: the services that you may use, and whose account each uses.",
    "connect.list.none": "No service of this organisation needs an account of yours.",
    "connect.list.all": "Connect the {number} open ones, one after another",
    "connect.title": "Connect {service}",
    "connect.title.manage": "{service}",
    "connect.as": "For {email} in {tenant}",
    "connect.for_role": "For all members of the role {role}, who will use this account together",
    "connect.queue": "Service {number} of {of}",
    "connect.queue.after": "{service} is connected. On to the next one.",
    "connect.skip": "Skip this one",
    "connect.state.own": "Connected as {account}",
    "connect.state.own.nameless": "Connected",
    "connect.state.site": "at {site}",
    "connect.state.shared": "The role {role} shares the account {account}",
    "connect.state.shared.nameless": "The role {role} shares an account",
    "connect.state.broken": "Has to be connected again: {account}",
    "connect.state.none": "Not connected",
    "connect.state.unregistered": "Not set up yet: an administrator has to register an app first",
    "connect.nameless": "an account without a name",
    "connect.by_roles": "What roles share",
    "connect.by_roles.text": "Shown to administrators: every member of the role uses the account.",
    "connect.by_roles.role": "for {role}",
    "connect.by_roles.label": "{action}: {service} for {role}",
    "connect.by_roles.more": "and {number} more: <code>mcpist credential list</code>",
    "connect.state.shared_broken": "The account that the role {role} shares no longer works",
    "connect.tag.connected": "connected",
    "connect.tag.broken": "does not work",
    "connect.tag.refreshing": "being renewed",
    "connect.tag.refused": "refused just now",
    "connect.tag.away": "not available now",
    "connect.tag.misconfigured": "misconfigured",
    "connect.standing.refreshing": "The access is being renewed. You do not have to do anything.",
    "connect.standing.refused": "{service} refuses this account or key just now. MCPist asks again by itself; if you "
    "revoked it there, connect it again.",
    "connect.standing.away": "{service} cannot be reached to renew the access, or asks to wait. MCPist tries again by "
    "itself; you do not have to do anything.",
    "connect.standing.misconfigured": "{service} refuses the app that your administrator registered. No account is "
    "lost; tell your administrator. Connecting again does not help.",
    "connect.client.title": "{provider} refuses the OAuth client that is registered for your organisation",
    "connect.client.do": "No account is lost. Look at the app there, then store what it has now: "
    "<code>mcpist oauth-client set {id}</code>",
    "connect.client.role": "It is the one of the role {role}.",
    "connect.open": "Connect",
    "connect.again": "Connect again",
    "connect.manage": "Details",
    "connect.open.label": "{action}: {service}",
    "connect.done.connected": "{service} is connected. You can close this page and repeat what you asked for.",
    "connect.done.connected_less": "{service} is connected.",
    "connect.done.kept": "Nothing was changed: the connection is as it was before.",
    "connect.done.declined": "You did not agree at the vendor. Nothing was changed here.",
    "connect.done.disconnected": "{service} is disconnected, and the access was revoked at the vendor.",
    "connect.done.removed": "{service} is disconnected: MCPist has deleted the access. It could not be revoked at the "
    "vendor; revoke it there too.",
    "connect.tools": "What it is for",
    "connect.tools.reading": "Tools that only read",
    "connect.tools.writing": "Tools that change something",
    "connect.whose": "For whom",
    "connect.whose.me": "Only you",
    "connect.whose.role": "Members of {role}",
    "connect.oauth": "Through {provider}",
    "connect.oauth.asks": "{provider} will ask you to agree to this:",
    "connect.oauth.fixed": "{provider} asks you for the permissions that your administrator has set for the app.",
    "connect.oauth.none": "{provider} is asked only for your identity.",
    "connect.oauth.joined": "These use the same connection, and are asked for with it:",
    "connect.oauth.also": "The same consent can be for these too:",
    "connect.oauth.also.adds": "Also asked for:",
    "connect.oauth.also.nothing": "Nothing more is asked for.",
    "connect.oauth.also.taken": "It is connected in another way now, which this would replace.",
    "connect.oauth.go": "Continue to {provider}",
    "connect.oauth.again": "Connect again at {provider}",
    "connect.more": "More access",
    "connect.more.text": "So far only tools that read are covered. For those that change something {provider} asks "
    "you once more. If you decline there, everything stays as it is.",
    "connect.more.go": "Allow changes too",
    "connect.lacking": "{provider} did not grant all that was asked for, so some tools will not work:",
    "connect.key": "With a {service} token",
    "connect.key.text": "Create a token (API key) at {service} and paste it here. It is tried with a harmless request, "
    "stored encrypted, and never shown again.",
    "connect.key.help": "Where to create one",
    "connect.key.label": "Token",
    "connect.key.user.email": "E-mail address of your account at {service}",
    "connect.key.user.name": "Your user name at {service}",
    "connect.key.go": "Check and connect",
    "connect.other.title": "That is another account",
    "connect.other": "The token belongs to {now}; connected so far is {before}. If you mean to replace it, say so "
    "and paste the token again.",
    "connect.other.replace": "Replace {before}",
    "connect.refused.title": "Nothing was stored",
    "connect.refused.key_form": "This does not look like a whole token: it is one line without spaces.",
    "connect.refused.key_user": "The user name or e-mail address beside the token is missing, has a colon or special "
    "characters, or {service} does not use one.",
    "connect.refused.key_not_accepted": "{service} does not accept this token: it is incomplete, was revoked, has "
    "expired, or belongs to another server.",
    "connect.refused.key_forbidden": "{service} knows the token, but it lacks permissions.",
    "connect.refused.key_busy": "{service} has had too many requests. Try again in a minute.",
    "connect.refused.key_away": "MCPist cannot reach {service}. Try again in a moment. If it stays so, an "
    "administrator checks the base URL of the service; a host in a private network has to be listed in "
    "MCPIST_ALLOWED_PRIVATE_HOSTS.",
    "connect.refused.key_setup": "This service is misconfigured. Ask your administrator.",
    "connect.refused.key_often": "You have tried too many tokens in a short time. Wait a few minutes.",
    "connect.warning.no_reach": "{provider} is connected, but the app is installed nowhere, so tools will find "
    "nothing. Install it for your account or organisation, then connect once more.",
    "connect.warning.go": "Install it at {provider}",
    "connect.unregistered": "Your administrator has to register an app at {provider} first.",
    "connect.unregistered.admin": "To connect through {provider}, register an OAuth app there with this redirect "
    "URI, then store its client id and secret: <code>mcpist oauth-client set {id}</code>",
    "connect.unregistered.admin.github": "GitHub App, recommended: its permissions are set at the "
    "App, and its tokens expire. Register a GitHub App (not an OAuth App) with this callback URL, then store its "
    "client ID and secret: <code>mcpist oauth-client set github</code>",
    "connect.unregistered.admin.github_oauth_app": "OAuth App, where a GitHub App is not possible: it "
    "asks for wide scopes, and its tokens do not expire. Register an OAuth App with this callback URL, then store its "
    "client ID and secret: <code>mcpist oauth-client set github_oauth_app</code>",
    "connect.unregistered.either": "One of these is enough.",
    "connect.unregistered.uri": "Redirect URI",
    "connect.noway": "This service cannot be connected yet.",
    "connect.disconnect": "Disconnect",
    "connect.disconnect.title": "End this connection",
    "connect.disconnect.text": "The access is revoked at the vendor and deleted here. Other services that use the same "
    "connection lose it too.",
    "connect.disconnect.key": "MCPist deletes the token. At the vendor it stays valid until you revoke it there.",
    "connect.ended.manage": "End it at the vendor",
    "connect.back": "All services",
    "connect.question.title": "One more question",
    "connect.question.title.swap": "Another account than before",
    "connect.question.account": "You have agreed as {account}.",
    "connect.question.title.untold": "The same account as before?",
    "connect.question.for": "This is about {services}, for {email} alone.",
    "connect.question.for_role": "This is about {services} for all members of the role {role}, who share one account.",
    "connect.question.account.untold": "The vendor does not tell whose account you have agreed with.",
    "connect.question.before": "Connected so far is {before}.",
    "connect.question.before.nameless": "So far an account is connected whose name the vendor does not tell.",
    "connect.question.untold": "Whether it is the same account is not known here: only you can tell.",
    "connect.question.swap": "If you go on, the new account takes its place, and the access of the one before ends.",
    "connect.question.swap.role": "If you go on, every member of {role} uses the new account from now on, and the "
    "access of the one before ends.",
    "connect.question.swap.caution": "If you did not mean to change accounts, leave it as it was.",
    "connect.question.sites": "Which site do you want to use?",
    "connect.question.go": "Use this account",
    "connect.question.site.go": "Use this site",
    "connect.question.swap.go": "Replace it",
    "connect.question.keep": "Leave it as it was",
    "problem.connect_home": "Back to the service",
    "problem.connect_unknown.title": "This connection was not started in this browser",
    "problem.connect_unknown.text": "An account has to be connected by the person who started, in the browser in which "
    "they started. Each step works once, within ten minutes. Nothing was stored.",
    "problem.connect_unknown.do": "If you started it, start again in this browser. If somebody sent you here, close "
    "this page.",
    "problem.connect_session_over.title": "This link to connect accounts has expired",
    "problem.connect_session_over.text": "It was valid for an hour, or until it was cancelled. Accounts connected by "
    "then stay connected.",
    "problem.connect_session_over.do": "Ask for a new one where you got it, or open <code>/connect</code> here.",
    "problem.connect_issuer.title": "The answer did not come from the expected server",
    "problem.connect_issuer.text": "It does not name the server that was asked. This may be an "
    "attempt to mix up accounts, so nothing was stored.",
    "problem.connect_issuer.do": "Start again. If it happens again, tell your administrator.",
    "problem.connect_code.title": "{title} did not confirm the connection",
    "problem.connect_code.text": "It did not accept the answer that your browser brought. Nothing was stored.",
    "problem.connect_code.do": "Start again.",
    "problem.connect_refused.title": "{title} refuses the request",
    "problem.connect_refused.text": "It does not allow the app that your administrator registered to request this. "
    "Nothing was changed here.",
    "problem.connect_refused.do": "Ask your administrator to look at the app and its permissions at {title}. What it "
    "refused is in the audit log.",
    "problem.connect_question_over.title": "There is nothing left to decide",
    "problem.connect_question_over.text": "This question was answered already, or ten minutes are over, or it was "
    "asked in another browser.",
    "problem.connect_question_over.do": "The list of services shows what is connected now; start again from there if "
    "you need to.",
    "problem.connect_nothing.title": "There is nothing to connect here",
    "problem.connect_nothing.text": "The address may be wrong or out of date, or none of your roles has this service "
    "any more.",
    "problem.connect_nothing.do": "The list of services shows all that you may use. If one is missing, ask your "
    "administrator.",
    "problem.copy.title": "This is a copy of MCPist",
    "problem.copy.text": "It was restored from a backup and not adopted, so it sends no requests to vendors. Nothing "
    "was changed, here or there.",
    "problem.copy.do": "Use the original. If it is stopped for good, the operator runs <code>mcpist adopt</code> "
    "here; some seconds later this works.",
    "problem.connect_setup.title": "The connection to {title} is not set up correctly",
    "problem.connect_setup.text": "{title} refuses the app that your administrator registered: its id, secret or "
    "redirect URI is wrong. Nothing was stored.",
    "problem.connect_setup.do": "Ask your administrator to look at the OAuth client of this service.",
    "problem.connect_away.title": "{title} does not answer",
    "problem.connect_away.text": "The connection could not be finished. Nothing was stored.",
    "problem.connect_away.do": "Start again in a moment.",
    "problem.connect_elsewhere.title": "This service has an address of another server",
    "problem.connect_elsewhere.text": "The base URL of this service is not an address of {title}. Nothing was "
    "connected, because your access would be sent to another server.",
    "problem.connect_elsewhere.do": "Ask your administrator to look at the base URL of this service and at its OAuth "
    "app.",
    "problem.connect_no_site.title": "There is no site to use",
    "problem.connect_no_site.text": "You agreed at {title}, but the account has no site that it may use.",
    "problem.connect_no_site.do": "Choose another account there, or ask whoever manages the site to let you in.",
}
