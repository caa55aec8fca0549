"""A stateful Jira in memory, built on Atlassian's own API description: it refuses what Jira would refuse."""

from tests.support.jira_double.server import PAIR, ROUTES, JiraDouble, jira_double

__all__ = ["PAIR", "ROUTES", "JiraDouble", "jira_double"]
