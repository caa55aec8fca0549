"""Limits on what runs at the same time: rate limits and large steps taken in turn."""
