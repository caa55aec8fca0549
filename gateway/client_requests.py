"""What a client or its person has to do before a tool, resource or prompt can go on."""

from gateway.mcp.request_context import ProtocolError, RequestContext, Result, UrlElicitation
from gateway.mcp.revisions import MISSING_CAPABILITY
from gateway.tool_runner import ToolOutcome


def build_client_request(request: RequestContext, outcome: ToolOutcome) -> Result | None:
    """Build the result that asks for what an outcome waits for; None where it waits for nothing that can be asked.

    Raises:
        ProtocolError: the client has not declared the capability that it takes, or cannot be asked by a result.
    """
    if outcome.not_connected is not None and request.elicit_url is not None:
        missing = outcome.not_connected
        return request.elicit_url(UrlElicitation(missing.module, missing.url, missing.elicitation_message))
    if outcome.questions and request.questions is not None:
        return request.questions.build_request(outcome.questions)
    if outcome.missing_capabilities is not None and request.questions is not None:
        text = f"Missing required client capability: {outcome.error}"
        raise ProtocolError(MISSING_CAPABILITY, text, {"requiredCapabilities": outcome.missing_capabilities})
    return None
