"""Identity providers: where people prove who they are."""
