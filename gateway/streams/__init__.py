"""Open streams of clients, and what they are told on them: one for all notifications of a client."""
