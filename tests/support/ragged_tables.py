"""Markdown with tables that are broken: rows that are shorter and longer than their head, a table in a list."""

RAGGED = """\
| a | b |
| --- | --- |
| 1 |
| 2 | 3 | `4|5` |

- x

  | c |
  | --- |
  | 6 |
"""
