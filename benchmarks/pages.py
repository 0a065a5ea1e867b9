"""Pages of the documentation with tables that are made from result files.

A table stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
"""

from __future__ import annotations

from statistics import stdev
from typing import TYPE_CHECKING

from reshuffle.kg import written_whole
from reshuffle.text import table

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path


def text_table(header: Sequence[str], rows: list[list[object]]) -> str:
    """A table in plain text, in columns."""
    return "```text\n" + table(header, rows) + "\n```"


def markdown_table(header: Sequence[str], rows: list[list[str]], *, right: Container[str] = ()) -> str:
    """A table in Markdown; the columns in `right` are aligned to the right."""
    rule = ["---:" if name in right else "---" for name in header]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def spread(values: Sequence[float]) -> float | str:
    """The sample's standard deviation, as the paper has it; nothing where there is one value only."""
    return stdev(values) if len(values) > 1 else ""


def page_with(content: str, made: Mapping[str, str]) -> str:
    """The page with its tables, by name, replaced."""
    for name, text in made.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = content.split(begin)
        content = f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"
    return content


def rewrite(page: Path, made: Mapping[str, str]) -> None:
    """Put the tables into the page."""
    content = page_with(page.read_text(encoding="utf-8"), made)
    with written_whole(page) as aside:
        aside.write_text(content, encoding="utf-8")
