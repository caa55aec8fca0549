"""The broker as a process of its own: its HTTP form, the client for it, and the proof of which gateway asks."""
