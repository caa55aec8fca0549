"""A stateful Confluence in memory, built on a description of its API: it refuses what Confluence would refuse."""

from tests.support.confluence_double.answers import refuse
from tests.support.confluence_double.description import load_description
from tests.support.confluence_double.server import PAIR, ROUTES, ConfluenceDouble, confluence_double

__all__ = ["PAIR", "ROUTES", "ConfluenceDouble", "confluence_double", "load_description", "refuse"]
