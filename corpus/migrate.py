"""Old records become current ones: pure steps, schema n to n+1, on plain fields.

To add one: raise record.SCHEMA, write a function from the fields of schema n to those of n+1,
append it to MIGRATIONS, and keep the frozen sample of schema n in tests/corpus/samples readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corpus.errors import UnreadableError

Fields = Mapping[str, object]

MIGRATIONS: tuple[Callable[[Fields], Fields], ...] = ()
"""MIGRATIONS[n - 1] takes schema n to n + 1; the last one ends in record.SCHEMA."""


def to_current(
    fields: Fields, migrations: tuple[Callable[[Fields], Fields], ...] = MIGRATIONS
) -> Fields:
    """Bring fields of any schema so far to the current one. Raises UnreadableError on a newer."""
    current = len(migrations) + 1
    schema = fields.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise UnreadableError(f"schema: {schema!r} is not a schema number")
    if schema > current:
        raise UnreadableError(f"schema {schema}: newer than {current}, the newest known here")
    for number, step in enumerate(migrations[schema - 1 :], start=schema + 1):
        fields = {**step(fields), "schema": number}
    return fields
