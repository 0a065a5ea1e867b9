"""Reports to mail to somebody: predictions with reasons, rules, evaluations. Each is one page that loads nothing.

Names are shown as on the terminal, short and with labels; who points at one sees it in full.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from reshuffle.cli.picture_files import how_made, write_page
from reshuffle.evaluation.report_pictures import scenes
from reshuffle.extraction import ExtractedRules
from reshuffle.pictures.markup import (
    Titled,
    folded,
    paragraph,
    picture,
    preformatted,
    section,
    sortable,
    table_html,
)
from reshuffle.pictures.svg import svg_of
from reshuffle.pictures.tree_layout import tree_scene
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from reshuffle.cli.console import ShownNames
    from reshuffle.evaluation.ranked_links import Link, Predictions
    from reshuffle.evaluation.report import Report
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.results import Explanation
    from reshuffle.rulelist import RuleModel
    from reshuffle.theories import Theory

_OPENED = 3  # reasons that one sees without a click
_MOST_ROWS = 5_000


def write_predictions(
    found: Predictions[Link],
    arguments: argparse.Namespace,
    *,
    reasons: int,
    theory: Theory,
    facts: KnowledgeGraph,
    names: ShownNames,
) -> None:
    """The ranked links, why each is there, the rules behind them, and how it was made."""
    parts = [_table(_ranked(found.shown()), names)] if len(found) else [paragraph("no predictions")]
    if reasons and len(found):
        explained = [link.explain(reasons) for link in found]
        parts += [
            section("Why", *_whys(explained, reasons, names.text)),
            _rules_behind(explained, reasons, names),
        ]
    if found.held_back is not None:
        told = f"{counted(found.held_back, 'link')} held back, which would break a constraint"
        parts.append(paragraph(f"{told} of {arguments.constraints}"))
    made = [
        ("model", f"{arguments.model}: {theory.heading}"),
        ("facts", f"{', '.join(arguments.facts)}: {repr(facts)[1:-1]}"),
    ]
    write_page(arguments.output, names.text(_asked(arguments)), *parts, how_made(arguments, made))


def _whys(explained: Sequence[Explanation], reasons: int, shown: Callable[[str], str]) -> Iterator[str]:
    """The reasons of each link, drawn and in words; the first ones are open."""
    for place, why in enumerate(explained, start=1):
        diagram = why.diagram(reasons).worded(shown)
        drawn = picture(svg_of(tree_scene(diagram)))
        words = folded("in words", preformatted(shown(str(why))))
        yield folded(f"{place}. {diagram.title}", drawn, words, opened=place <= _OPENED)


def _ranked(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"rank": place, **row} for place, row in enumerate(rows, start=1)]


def _asked(arguments: argparse.Namespace) -> str:
    relation = arguments.relation or "any relation"
    if arguments.all:
        return f"Most plausible missing links, {relation}"
    return f"Predictions: {arguments.head or '?'} · {relation} · {arguments.tail or '?'}"


def _rules_behind(explained: Iterable[Explanation], reasons: int, names: ShownNames) -> str:
    """The rules that speak for some link, those of most links first."""
    rows: dict[str, dict[str, Any]] = {}
    links: Counter[str] = Counter()
    for why in explained:
        for row in why.rule_rows(reasons):
            rows.setdefault(row["rule"], row)
            links[row["rule"]] += 1
    listed = [{"links": count, **rows[rule]} for rule, count in links.most_common()]
    return section("Rules behind these links", _table(listed, names)) if rows else ""


def write_rules(
    found: ExtractedRules | RuleModel,
    arguments: argparse.Namespace,
    *,
    columns: Sequence[str],
    made: tuple[str, str],
    names: ShownNames,
) -> None:
    """The rules as a table that can be sorted, with what is known of each."""
    parts = [_table(found.rows(), names, columns)]
    if isinstance(found, ExtractedRules):
        types = [
            {"confidence": one.confidence, "support": one.support, "rule": str(one)} for one in found.types
        ]
        parts += [section("Rules about single entities", _table(types, names))] if types else []
        parts += [paragraph(names.text(remark), faint=True) for remark in found.remarks()]
    title = f"{counted(len(found), 'rule')} of {arguments.model}"
    write_page(arguments.output, title, *parts, how_made(arguments, [made]))


def write_evaluation(report: Report, arguments: argparse.Namespace, names: ShownNames) -> None:
    """The metrics beside those of the baselines, plots, and a table by relation."""
    rows = [{name: value for name, value in row.items() if name != "protocol"} for row in report.rows()]
    drawn = "candidates from a file" if report.seed is None else f"seed {report.seed}"
    parts = [
        paragraph(f"{report.protocol.name}: {report.protocol.description}"),
        paragraph(f"{counted(report.queries, 'triple')}, both sides, {report.protocol.ties} ranks, {drawn}"),
        _table(rows, names),
        *(paragraph(names.text(remark), faint=True) for remark in report.remarks()),
        *([] if report.reliability is None else [paragraph(str(report.reliability))]),
        section("Plots", *(picture(svg_of(scene)) for scene in scenes(report, names.text))),
        section("By relation", _table(report.by_relation(), names)),
    ]
    made = [("scorer", arguments.scorer), ("data", arguments.benchmark or arguments.queries)]
    write_page(
        arguments.output,
        f"Evaluation of {arguments.scorer} on {arguments.benchmark or arguments.queries}",
        *parts,
        how_made(arguments, made),
    )


def _table(rows: Sequence[Mapping[str, Any]], names: ShownNames, columns: Sequence[str] = ()) -> str:
    """Rows by column; a column without any value is left out."""
    shown = rows[:_MOST_ROWS]
    named = columns or list(dict.fromkeys(name for row in shown for name in row))
    kept = [name for name in named if any(row.get(name) is not None for row in shown)]
    cells = [[_shown(row.get(name), names) for name in kept] for row in shown]
    return sortable(table_html([name.replace("_", " ") for name in kept], cells, most=None, total=len(rows)))


def _shown(value: object, names: ShownNames) -> object:
    if not isinstance(value, str) or (text := names.text(value)) == value:
        return value
    return Titled(text, value)
