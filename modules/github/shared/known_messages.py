"""Known messages of GitHub, each with what to do about it."""

import re

KNOWN_MESSAGES = [
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        # Repositories and branches
        (r"repository is empty", "the repository is empty: create a file in it first"),
        (r"was archived", "the repository is archived and can only be read"),
        (r"reference already exists", "a branch of that name exists already: choose another name"),
        (r"reference does not exist", "no such branch"),
        (r"object does not exist", "there is no such commit in this repository"),
        (r"reference name|not a valid ref name|is not well.formed",
         "the name is none that git takes: no spaces, no .., none of ~^:?*[\\, no . or .lock at its end"),
        (r"not a fast.forward", "the branch has commits that the new one lacks, and was not changed: read it again"),
        (r"no commit found|sha (could not|can't) be resolved", "no such commit, branch or tag"),
        (r"protected branch|required status check|review is required|rule violations",
         "the branch is protected: its rules ask for a pull request, a review or checks"),
        (r"protected ref", "the branch or tag is protected by rules of the repository"),
        (r"no common ancestor|history in common", "the two have no history in common"),
        # Files
        (r"badobjectstate|malformed path component",
         "a file to delete does not exist, or the path of one leads through another file"),
        (r"\"?sha\"? wasn't supplied", "the file exists already: read it and give its sha to replace it"),
        (r"expected head sha didn.?t match", "head has newer commits than sha: read the pull request again"),
        (r"does not match", "the file is not what it was at that sha: read it again and give its new sha"),
        (r"diff exceeded|diff is taking too long",
         "the change is too large for GitHub to send as one diff: read its files page by page"),
        (r"too large", "this is too large for GitHub's API"),
        # Issues and pull requests
        (r"no commits between", "head has no commit that base lacks: commit to head first"),
        (r"pull request already exists", "an open pull request from head to base exists: change that one"),
        (r"own pull request", "you cannot approve or refuse your own pull request: use the event COMMENT"),
        (r"head branch was modified", "head has newer commits than sha: read the pull request again"),
        (r"base branch was modified", "base has just changed: try again"),
        (r"not mergeable|merge conflict", "the pull request cannot be merged now: look at mergeable_state (conflicts, "
         "checks, reviews or a draft)"),
        (r"(merge commits|squash merg\w*|rebase merg\w*) (are|is) not allowed",
         "the repository forbids this merge_method: use another one"),
        (r"no new commits on the base branch", "head has all commits of base already: there is nothing to do"),
        (r"draft pull requests are not supported", "the repository's plan has no draft pull requests"),
        (r"requested from pull request author", "the author of a pull request cannot review it"),
        (r"reviews may only be requested", "reviewers must be collaborators: one of these accounts or teams is not"),
        (r"issues (are|has been) disabled", "issues are switched off in this repository"),
        (r"issue was deleted", "the issue was deleted"),
        (r"is locked", "the conversation is locked: only those who may write to the repository can take part"),
        (r"head sha can.?t be blank|base sha can.?t be blank|base ref must be a branch|not all refs are readable",
         "head or base is no branch that the account may read"),
        (r"closed pull request", "the pull request is closed: reopen it first"),
        (r"(no new commits|branch has been deleted|was force-pushed)",
         "the pull request cannot be reopened: its branch is gone, was replaced, or has nothing new"),
        (r"(line|path|start_line|position)\b.{0,40}(must be part of the (same )?(diff|hunk)|could not be resolved)",
         "path and line of a comment must be in the diff of the pull request"),
        (r"submitted too quickly", "GitHub takes no more for a while: send fewer requests, and wait a minute"),
        (r"duplicate sub-issues|may only have one parent", "that issue is a sub-issue of this or another one already"),
        # Workflows
        (r"does not have 'workflow_dispatch'", "the workflow has no workflow_dispatch trigger, and cannot be started"),
        (r"no ref found for", "ref: no such branch or tag"),
        (r"logs? .{0,60}expired", "GitHub has deleted the log: it keeps one for a time that the repository sets"),
        (r"on a disabled workflow", "the workflow is switched off"),
        (r"created over a month ago", "the run is more than a month old, and cannot be run again"),
        (r"required input|unexpected inputs", "inputs do not fit those that the workflow declares: read its file"),
        (r"already running|cannot be rerun|cannot be retried|cannot cancel",
         "the run is not in a state for this: look at its status"),
        # Searches
        (r"first 1000 search results", "a search shows only its first 1,000 results: make q narrower"),
        (r"pagination is limited", "GitHub shows no more of this list: narrow it down"),
        (r"longer than 256 characters", "q may have 256 characters beside its qualifiers"),
        (r"more than five and", "q may have five AND, OR and NOT"),
        (r"unable to parse query", "q cannot be parsed: look at its quotes and brackets"),
        (r"(?m)^(?:(?!must include ).)*+must include .*is:(issue|pull-request|pr)", "q must have is:issue or is:pr"),
        (r"cannot be searched", "q names a user or repository that does not exist or that the account may not see"),
        # What the account or its organisation may not
        (r"must have admin rights", "the connected account may not do this: it needs admin rights to the repository"),
        (r"must have push access|write access to (the )?repository",
         "the connected account may not do this: it needs write access to the repository"),
        (r"upgrade to github", "the plan of the account does not cover this"),
        (r"account was suspended|account is suspended", "GitHub has suspended the connected account"),
        (r"repository access blocked|dmca", "GitHub has blocked this repository: nobody can read it"),
        (r"saml", "the organisation demands single sign-on: authorise the account's token for it at GitHub"),
        (r"ip allow list", "the organisation has an IP allow list: its administrator has to add this server's address"),
        (r"oauth app access restrictions", "the organisation restricts OAuth Apps: an owner has to approve this "
         "one (organisation settings, Third-party access)"),
        (r"personal access token \(classic\)", "the organisation takes no classic personal access tokens: connect with "
         "a fine-grained one, or by signing in"),
        (r"lifetime is greater than", "the organisation limits how long a token may live: make one that ends sooner"),
        (r"access via a fine-grained", "the organisation takes no fine-grained personal access tokens, or one of its "
         "owners has yet to approve this one"),
    )
]  # fmt: skip
"""Pattern and text; the first that is found counts."""
