"""The texts of the pages, one file a language; every file has the same keys and the same placeholders."""
