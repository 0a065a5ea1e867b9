"""The tables of pages as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def csv_of(view: str, data: dict[str, Any]) -> str:
    """The table of a page; lists within a row are joined by blanks."""
    rows = list(_ROWS[view](data))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _triple(names: Iterable[str]) -> dict[str, Any]:
    return dict(zip(("head", "relation", "tail"), names, strict=True))


def _entity(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = data["entity"]
    groups = [(data["derived"], data)] if "names" in data else []
    groups += [(False, group) for group in data.get("facts", ())]
    groups += [(True, group) for group in data.get("derived", ())] if "facts" in data else []
    for derived, group in groups:
        for other in group["names"]:
            ends = (name, other) if group["side"] == "tail" else (other, name)
            yield {**_triple((ends[0], group["relation"], ends[1])), "derived": derived}


def _predictions(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in data["predictions"]:
        evidence = row.get("evidence", {})
        yield {
            name: value for name, value in {**row, **evidence}.items() if not isinstance(value, dict | list)
        }


def _why(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, picture in enumerate(data["pictures"], start=1):
        for node in picture["nodes"]:
            if "triple" in node:
                yield {
                    "proof": number,
                    "kind": node["kind"],
                    **_triple(node["triple"]),
                    "rule": node.get("rule"),
                }


def _what_if(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for change in ("appeared", "vanished"):
        for triple in data["effect"][change]["triples"]:
            yield {"change": change, **_triple(triple)}


def _rules(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from data["rules"]


def _rule_graph(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for edge in data["edges"]:
        yield {**edge, "rules": edge.get("rules", [])}


def _queue(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for link in data["links"]:
        reasons = link.get("reasons") or [{}]
        row = {name: value for name, value in link.items() if not isinstance(value, dict | list)}
        yield {**row, "reason": reasons[0].get("rule")}


def _overview(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in data["relations"]:
        rules = row["rules"] or {}
        numbers = {name: value for name, value in row.items() if not isinstance(value, dict | list | tuple)}
        yield {**numbers, "rules": rules.get("count", 0), "best_rule": rules.get("best", {}).get("rule")}


def _decisions(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from data["decisions"]


def _classes(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in data.get("roots", ()):
        yield {"class": row["name"], "place": "root", "children": row["children"]}
    for name in data.get("parents", ()):
        yield {"class": name, "place": "parent"}
    for row in data.get("children", ()):
        yield {"class": row["name"], "place": "child", "children": row["children"]}


def _training(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from data["epochs"]


_ROWS = {
    "entity": _entity,
    "predictions": _predictions,
    "why": _why,
    "what-if": _what_if,
    "rules": _rules,
    "rule-graph": _rule_graph,
    "training": _training,
    "queue": _queue,
    "decisions": _decisions,
    "overview": _overview,
    "classes": _classes,
}
TABLES = tuple(_ROWS)
