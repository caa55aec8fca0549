"""Work that outlives its request: jobs of tools, and the two forms in which clients see them as tasks."""
