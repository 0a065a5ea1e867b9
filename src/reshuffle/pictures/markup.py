"""Text as HTML and XML: escaping, tables, parts of a page, and whole pages that need nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

# What XML cannot hold, and `visible` leaves: halves of characters, and two that are none.
_UNFIT = re.compile("[\ud800-\udfff\ufffe\uffff]")
SHOWN = 20
"""Rows of a table in a notebook; the rest is counted."""

# The colours of the explorer (`explorer/static/style.css`).
_COLOURS = """
{scope} {{ --ink: #1d2421; --faint: #5a645f; --ground: #fff; --line: #dfe3de; --band: #f1f4f1; --link: #1a5f7a;
  --accent: #2f5d62; }}
@media (prefers-color-scheme: dark) {{
{scope} {{ --ink: #e7ecea; --faint: #a3afab; --ground: #1c2225; --line: #3a4548; --band: #262e31; --link: #86c8e2;
  --accent: #7fc4b2; }} }}
{scope} {{ color: var(--ink); background: var(--ground); font-size: 14px;
  font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }}
{scope} table {{ border-collapse: collapse; margin: .5em 0; }}
{scope} th, {scope} td {{ text-align: left; padding: .35em 1em .35em 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: break-word; max-width: 30em; }}
{scope} th {{ white-space: nowrap; color: var(--faint); font-weight: 600; }}
{scope} td.n, {scope} th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
{scope} pre {{ background: var(--band); padding: .8em; overflow-x: auto; border-radius: 8px; }}
{scope} .faint {{ color: var(--faint); }}
{scope} .picture {{ overflow-x: auto; }}
"""
_PAGE = """
body { margin: 2em auto; max-width: 76em; padding: 0 1.5em; line-height: 1.5; }
h1 { font-size: 1.6em; line-height: 1.25;
  border-top: 4px solid var(--accent); padding-top: .7em; overflow-wrap: anywhere; }
h2 { font-size: 1.15em; margin-top: 2em; }
dt { color: var(--faint); } dd { margin: 0 0 .4em 0; }
dd, code { overflow-wrap: anywhere; } summary, button { cursor: pointer; }
details { border: 1px solid var(--line); border-radius: 10px; padding: .5em .9em; margin: .6em 0; }
details details { border: 0; padding: 0; } summary { font-weight: 600; overflow-wrap: anywhere; }
table { width: 100%; } th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; }
tbody tr:hover { background: var(--band); } :focus-visible { outline: 3px solid #b4540a; outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
@media (max-width: 640px) { body { margin: 1em auto; padding: 0 .8em; } table { display: block; overflow-x: auto; } }
@page { margin: 16mm 14mm; }
@media print {
  body { --ink: #000; --faint: #444; --ground: #fff; --line: #bbb; --band: #f4f4f4;
    margin: 0; max-width: none; padding: 0; font-size: 10.5pt; }
  details::details-content { content-visibility: visible; block-size: auto; } details > * { display: block; }
  details { border-color: #bbb; } tr, svg, .picture { break-inside: avoid; } h1, h2, summary { break-after: avoid; }
  .picture { overflow: visible; } svg { max-width: 100%; height: auto; } thead { display: table-header-group; }
}
"""
# A click on a head sorts by its column, a second one the other way round; what is no number goes by its letters.
_SORT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending" ? false
        : head.getAttribute("aria-sort") === "ascending" ? true : head.classList.contains("n");
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => head.classList.contains("n")
        ? (value(a) === "" ? -Infinity : Number(value(a))) - (value(b) === "" ? -Infinity : Number(value(b)))
        : value(a).localeCompare(value(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => down ? compare(b, a) : compare(a, b));
      table.tBodies[0].append(...rows);
    });
  });
}
"""


@dataclass(frozen=True)
class Titled:
    """A text in a table, with another one that is seen when one points at it."""

    text: str
    title: str


def escaped(text: object) -> str:
    """The text for HTML and XML, between tags and in attributes; hidden characters are written out.

    >>> escaped('<img src=x onerror="alert(1)">')
    '&lt;img src=x onerror=&quot;alert(1)&quot;&gt;'
    """
    return html.escape(_UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(str(text))))


def escaped_lines(text: str) -> str:
    """The text with its line breaks."""
    return "&#10;".join(map(escaped, text.split("\n")))


def table_html(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    most: int | None = SHOWN,
    total: int | None = None,
) -> str:
    """A table; columns of numbers go to the right. Beyond `most` rows it says how many more there are, of `total`.

    >>> table_html(["name", "count"], [["<a>", 1], ["b", 2]], most=1).count("<tr>")
    2
    """
    shown = rows if most is None else rows[:most]
    numeric = [
        bool(shown) and all(row[place] is None or isinstance(row[place], int | float) for row in shown)
        for place in range(len(header))
    ]
    heads = "".join(
        f'<th scope="col"{_class(right)}>{escaped(name)}</th>'
        for name, right in zip(header, numeric, strict=True)
    )
    lines = "".join(
        f"<tr>{''.join(_cell(value, right) for value, right in zip(row, numeric, strict=True))}</tr>\n"
        for row in shown
    )
    left = (len(rows) if total is None else total) - len(shown)
    more = f'<p class="faint">and {left:,} more</p>' if left > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead>\n<tbody>{lines}</tbody></table>{more}"


def sortable(table: str) -> str:
    """A table whose columns can be sorted by a click, in a page."""
    return table.replace("<table>", '<table class="sortable">', 1)


def _class(right: bool) -> str:
    return ' class="n"' if right else ""


def _cell(value: object, right: bool) -> str:
    """The number itself is kept beside how it is shown, to sort by."""
    if value is None:
        return f'<td{_class(right)} data-value=""></td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, float):
        return f'<td{_class(right)} data-value="{value!r}">{value:,.3f}</td>'
    if isinstance(value, int):
        return f'<td{_class(right)} data-value="{value}">{value:,}</td>'
    if isinstance(value, Titled):
        return f'<td title="{escaped(value.title)}">{escaped(value.text)}</td>'
    return f"<td>{escaped(value)}</td>"


def paragraph(text: str, *, faint: bool = False) -> str:
    """A paragraph of plain text."""
    return f"<p{' class=faint' if faint else ''}>{escaped(text)}</p>"


def preformatted(text: str) -> str:
    """Text with its own lines and blanks."""
    return f"<pre>{escaped_lines(text)}</pre>"


def picture(svg: str) -> str:
    """An SVG as a part of a page, which scrolls where it is too wide."""
    return f'<div class="picture">{svg}</div>'


def fragment(heading: str, *parts: str) -> str:
    """What a notebook shows of an object: a line about it, and parts that are HTML already."""
    style = _COLOURS.format(scope=".reshuffle")
    inner = "".join(parts)
    return f'<div class="reshuffle"><style>{style}</style><p><strong>{escaped(heading)}</strong></p>{inner}</div>'


def section(heading: str, *parts: str) -> str:
    """A part of a page under its heading."""
    return f"<section><h2>{escaped(heading)}</h2>{''.join(parts)}</section>\n"


def folded(summary: str, *parts: str, opened: bool = False) -> str:
    """A part of a page that one opens by a click."""
    return f"<details{' open' if opened else ''}><summary>{escaped(summary)}</summary>{''.join(parts)}</details>\n"


def definitions(pairs: Sequence[tuple[str, object]]) -> str:
    """Names with what they stand for."""
    rows = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in pairs)
    return f"<dl>{rows}</dl>"


def page(title: str, *parts: str) -> str:
    """A whole page in one file. Its policy lets it load nothing, and run nothing but its own script."""
    allowed = base64.b64encode(hashlib.sha256(_SORT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title><style>{_COLOURS.format(scope='body')}{_PAGE}</style></head>\n"
        f"<body><h1>{escaped(title)}</h1>\n{''.join(parts)}<script>{_SORT}</script></body></html>\n"
    )
