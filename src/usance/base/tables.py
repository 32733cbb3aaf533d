"""Every table one room hands to another, as declared in the data contract.

>>> table("facts").key
('loan_id', 'effective_on', 'kind', 'ref')
"""

from __future__ import annotations

from usance.base.errors import unknown
from usance.base.schemas import Table
from usance.base.tables_books import BOOKS_TABLES
from usance.base.tables_loans import LOANS_TABLES

TABLES: dict[str, Table] = {each.name: each for each in (*LOANS_TABLES, *BOOKS_TABLES)}


def table(name: str) -> Table:
    """The declaration of a table by its name."""
    if name not in TABLES:
        raise unknown("table", name, TABLES)
    return TABLES[name]
