"""The two kinds of result that people read: a table of rows, and an explanation of one triple.

`Table` has rows by column, made when they are asked for. `Explanation` is a tree of reasons: proofs, parts of a score,
or why a triple does not follow. Verbs, pages and notebooks ask for one of the two, and print it; `table_formats` and
`explanation_formats` know every format that each goes out in, by the ending of the file.
"""

from reshuffle.results.explanation import Explanation
from reshuffle.results.table import Column, Table

__all__ = ["Column", "Explanation", "Table"]
