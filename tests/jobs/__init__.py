"""Jobs: the queue, and the workers that empty it."""
