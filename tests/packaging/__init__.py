"""What gets installed."""
