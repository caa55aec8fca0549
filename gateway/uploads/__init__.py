"""Documents that are uploaded as files: their text is extracted in a process of its own, and stored by a tool."""
