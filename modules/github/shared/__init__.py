"""Parts that the tools of several of GitHub's areas share: its client, its refusals, parameters, and long texts."""
