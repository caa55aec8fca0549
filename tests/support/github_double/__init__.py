"""A stateful GitHub in memory, built on GitHub's own API description: it refuses what GitHub would refuse."""

from tests.support.github_double.server import GitHubDouble, github_double
from tests.support.github_double.world import Repository, Submodule, Symlink, Token, World, blob_sha

__all__ = ["GitHubDouble", "Repository", "Submodule", "Symlink", "Token", "World", "blob_sha", "github_double"]
