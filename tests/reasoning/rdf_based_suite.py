"""The RDF-based conformance suite of OWL 2: its cases, and what the library makes of each.

A case is passed where the library says what the case says. It is refused where the library does not, and names what it
did not read or what it has no word for. Otherwise it is missed; nothing may be.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyoxigraph as ox

import reshuffle as rs
from reshuffle.errors import ReshuffleError
from reshuffle.theories import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.theories.theory_answers import TheoryAnswers

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Case:
    """A folder of the suite."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def is_inconsistency(self) -> bool:
        said = (self.folder / f"{self.name}.metadata.properties").read_text(encoding="utf-8")
        return re.search(r"testcase.type\">(\w+)<", said)[1] == "INCONSISTENCY"  # type: ignore[index]

    @property
    def premise(self) -> Path:
        part = "graph" if self.is_inconsistency else "premisegraph"
        return self.folder / f"{self.name}.{part}.ttl"

    @cached_property
    def conclusion(self) -> list[tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode]]:
        text = (self.folder / f"{self.name}.conclusiongraph.ttl").read_bytes()
        return [
            (quad.subject, quad.predicate, quad.object) for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)
        ]


def cases(folder: Path) -> list[Case]:
    """The cases of a part of the suite, by name."""
    return [Case(path) for path in sorted(folder.iterdir()) if path.is_dir()]


@dataclass(frozen=True)
class Verdict:
    """`passed`, `refused` with what is named as outside, or `missed`."""

    name: str
    what: str = ""

    @property
    def is_about_literals(self) -> bool:
        """Is what the library names as outside about literals?"""
        return "literal" in self.what or "datatype" in self.what


def verdict(case: Case) -> Verdict:
    """What the library makes of a case."""
    heard: list[str] = []
    try:
        graph = rs.read_graph(case.premise, literals_suffice=True, may_be_empty=True, notes=heard.append)
        answers = load(case.premise).on(graph)
        if case.is_inconsistency:
            if next(answers.violations(), None) is not None:
                return Verdict("passed")
            outside = ""
        else:
            outside = _lacking(answers, case)
            if outside is None:
                return Verdict("passed")
        named = [*heard, *(unread.what for unread in answers.entailed.claim.not_read)]
        if outside:
            named.append(outside)
    except ReshuffleError as error:
        return Verdict("refused", error.message)
    return Verdict("refused", "; ".join(named)) if named else Verdict("missed")


def _lacking(answers: TheoryAnswers, case: Case) -> str | None:
    """None where all of the conclusion holds; else what is outside of what can be asked, or nothing."""
    triples = [tuple(map(_name, triple)) for triple in case.conclusion]
    literal = any("literal" in triple for triple in triples)
    asked = [triple for triple in triples if "literal" not in triple]
    if _holds_all(answers, asked):
        return "triples that end in a literal" if literal else None
    return ""


def _name(node: object) -> str:
    if isinstance(node, ox.Literal):
        return "literal"
    return node.value if isinstance(node, ox.NamedNode) else str(node)


def _holds_all(answers: TheoryAnswers, triples: list[Triple]) -> bool:
    """Does some choice of entities for the blank nodes make all triples hold?"""
    blank = sorted({name for triple in triples for name in triple if name.startswith("_:")})
    choices = itertools.product(sorted(answers.facts.entities), repeat=len(blank)) if blank else [()]
    for chosen in choices:
        named = dict(zip(blank, chosen, strict=True))
        if all(_holds(answers, *(named.get(name, name) for name in triple)) for triple in triples):
            return True
    return False


def _holds(answers: TheoryAnswers, head: str, relation: str, tail: str) -> bool:
    try:
        return answers.holds(head, relation, tail)
    except ReshuffleError:
        return False


def counted(verdicts: dict[str, Verdict]) -> Iterator[str]:
    """The counts of the verdicts, as lines."""
    for name in ("passed", "refused", "missed"):
        yield f"{name}: {sum(found.name == name for found in verdicts.values())}"
