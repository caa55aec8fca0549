"""Prompts for work on a Supabase database."""

from typing import Annotated, Literal

from pydantic import Field

from modules.kit import Context, PromptMessages, build_user_prompt, prompt, quote_argument
from modules.kit.parameters import Title

Operation = Literal[
    "create_table", "add_column", "alter_column", "drop_column", "rename", "add_index", "add_constraint",
    "add_rls_policy", "drop_table",
]  # fmt: skip

_OPERATIONS: dict[Operation, str] = {
    "create_table": (
        "Give it a primary key, not null where nothing else is meant, foreign keys with an index on each of their\n"
        "  columns, and the time of creation as timestamptz. Enable row-level security in the same migration, and\n"
        "  write its policies; a table without it is open to everybody who has the publishable key."
    ),
    "add_column": (
        "A constant default costs no rewrite; a volatile one, such as gen_random_uuid(), rewrites the table. A column\n"
        "  that has to be not null is added nullable first, filled in parts, and then made not null."
    ),
    "alter_column": (
        "A change of type rewrites the table and locks it for that time, but for a few, such as a longer varchar.\n"
        "  Count the rows that do not fit the new type first. For a large table: a new column, filled in\n"
        "  parts, then swapped."
    ),
    "drop_column": (
        "Look for what uses it: views, functions, triggers, policies, indexes, generated types, edge functions. It is\n"
        "  dropped when the program that runs no longer reads it; its data does not come back."
    ),
    "rename": (
        "A program that runs knows the old name until it is deployed anew: offer a view or a second column for that\n"
        "  time. Policies and views follow a rename, the text of functions does not."
    ),
    "add_index": (
        "Say which query it serves and look at that query's plan. An index blocks writing while it is built; create\n"
        "  index concurrently does not, but cannot run in a transaction, so it stands alone in its migration."
    ),
    "add_constraint": (
        "Count the rows that break it first. Add it not valid, and validate it in a second statement, so that writing\n"
        "  is not blocked while all rows are read."
    ),
    "add_rls_policy": (
        "Write one policy for each command and role (anon, authenticated), with using for what may be seen and with\n"
        "  check for what may be written. Write (select auth.uid()) so that it is computed once, and index the\n"
        "  columns that policies compare. Check as each role what it sees, and what it must not."
    ),
    "drop_table": (
        "Look for what uses it, and for how many rows it has. Prefer to rename it for some weeks; cascade drops more\n"
        "  than the table, so name what it would drop. Its data comes back from a backup only."
    ),
}

_MIGRATION = """\
Write a migration for the Supabase database of this project. Table: {table}. Operation: {operation}.

1. If it is not clear from our conversation which project is meant or what exactly the change is, ask me first.
2. Look at the database as it is before you write anything: the table with its columns, constraints, estimated rows and
   row-level security, the tables that refer to it, and the migrations so far with their style. Do not rely on memory.
3. Mind with this operation:
  {advice}
4. Write the SQL for PostgreSQL: names with their schema in double quotes where they need them, lower-case snake_case,
   one purpose, statements that can run once more without harm where SQL allows it (if exists, if not exists), a lock
   timeout where a busy table is locked. Data is changed apart from the schema.
5. Show me: the SQL, a name for the migration in snake_case, what it locks and for how long with the rows that there
   are, what breaks in programs that run now, how to take it back (SQL), and how to check that it has worked.
6. Try it on a branch of the database if there is one. Apply it only when I have agreed to the SQL, as a migration and
   not as plain SQL. Then check it, and look at the advice on security and performance that the project gives."""


@prompt(title="Write a Supabase migration")
async def supabase_migration(
    context: Context,
    table_name: Annotated[Title, Field(description="Table, with its schema outside of public")],
    operation: Annotated[Operation, Field(description="What is to be done")],
) -> PromptMessages:
    """Write, check and apply a migration of one table with care."""
    text = _MIGRATION.format(table=quote_argument(table_name), operation=operation, advice=_OPERATIONS[operation])
    return build_user_prompt(text)


PROMPTS = (supabase_migration,)
