"""The module ``test``: the tools, resources and prompts that the scenarios of the conformance tool expect, by their
names in plain view. It is installed for tests only, as a package of its own (tests/conformance/deployment.py)."""

from conformance_fixture.changes import CHANGE_TOOLS, test_changing_prompt
from conformance_fixture.content import CONTENT_TOOLS
from conformance_fixture.jobs import JOB_TOOLS
from conformance_fixture.prompts import PROMPTS
from conformance_fixture.questions import QUESTION_TOOLS
from conformance_fixture.resources import RESOURCES

from modules.kit import Module

MODULE = Module(
    "test",
    "Test",
    "What the scenarios of the conformance tool expect.",
    frozenset({"test:read", "test:write"}),
    (*CONTENT_TOOLS, *QUESTION_TOOLS, *JOB_TOOLS, *CHANGE_TOOLS),
    resources=RESOURCES,
    prompts=(*PROMPTS, test_changing_prompt),
)
