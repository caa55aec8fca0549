"""The relay behind ``mcpist stdio``: one message a line on this side, Streamable HTTP on the other."""
