"""The texts of the pages, by language and part; both languages have the same keys and the same placeholders."""
