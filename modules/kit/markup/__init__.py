"""Documents of vendors as Markdown, and back: HTML, Atlassian's document format, Confluence's storage format."""
