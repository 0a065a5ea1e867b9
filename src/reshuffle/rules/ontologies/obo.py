"""OBO 1.4: frames of tags, read as the axioms that the format's mapping to OWL says they are.

| tag | axiom |
| --- | --- |
| `is_a: D` | `C SubClassOf D`; of relations `SubProperty` |
| `relationship: p D` | `C SubClassOf p some D`; with `cardinality`, `all_only` and so on as these say |
| `intersection_of:` (several) | `C EquivalentTo` their intersection |
| `union_of:`, `equivalent_to:`, `disjoint_from:` | as named |
| `transitive_over: q` | the chain `p q -> p` |
| `holds_over_chain: q r`, `equivalent_to_chain: q r` | the chain `q r -> p` |
| `{gci_relation="p", gci_filler="E"}` | `C and p some E` in the place of C |

Names stay as the file has them: `GO:0005634`, `part_of`. Tags for people are passed over, well-formed or not: files
often have some that a strict parser refuses. A relationship whose relation is a metadata tag or holds at the level of
classes is an annotation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.bad_lines import shown_line
from reshuffle.rules.ontologies.axioms import (
    NOTHING,
    THING,
    All,
    And,
    AtLeast,
    AtMost,
    Axiom,
    DisjointClasses,
    DisjointProperties,
    EquivalentClasses,
    EquivalentProperties,
    Exactly,
    InverseProperties,
    Kind,
    Not,
    Ontology,
    Or,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    Some,
    SubClassOf,
    SubProperty,
)
from reshuffle.rules.ontologies.names import contracted
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reshuffle.rules.ontologies.axioms import ClassExpression

IS_A = "is_a"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_STANZA = re.compile(r"\[([^\]]*)\]\s*(?:!.*)?\Z")
_MODIFIER = re.compile(r'([^\s=,{]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,}"]+))')
_NOT_PLAIN = re.compile(r'[\\"{!]')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\{|!|(?:\\.|[^\s\\"])+')
_ESCAPED = re.compile(r"\\(.)")
_TERMS = frozenset((IS_A, "relationship", "intersection_of", "union_of", "equivalent_to", "disjoint_from"))
_NAMED: dict[str, str] = {"owl:Thing": THING, "owl:Nothing": NOTHING}
_KINDS = {
    "is_transitive": Kind.TRANSITIVE,
    "is_symmetric": Kind.SYMMETRIC,
    "is_asymmetric": Kind.ASYMMETRIC,
    "is_reflexive": Kind.REFLEXIVE,
    "is_functional": Kind.FUNCTIONAL,
    "is_inverse_functional": Kind.INVERSE_FUNCTIONAL,
}
_ANNOTATING = ("is_metadata_tag", "is_class_level")
_OF_PROPERTIES: dict[str, tuple[int, Callable[..., Axiom]]] = {
    IS_A: (1, SubProperty),
    "inverse_of": (1, InverseProperties),
    "equivalent_to": (1, lambda one, other: EquivalentProperties((one, other))),
    "disjoint_from": (1, lambda one, other: DisjointProperties((one, other))),
    "domain": (1, PropertyDomain),
    "range": (1, PropertyRange),
    "transitive_over": (1, lambda one, other: PropertyChain((one, other), one)),
    "holds_over_chain": (2, lambda one, first, second: PropertyChain((first, second), one)),
    "equivalent_to_chain": (2, lambda one, first, second: PropertyChain((first, second), one)),
}
_LACKING = frozenset(("disjoint_over", "is_anti_symmetric"))
_TYPEDEFS = frozenset((*_OF_PROPERTIES, *_KINDS, *_ANNOTATING, *_LACKING, "intersection_of", "union_of"))
_INSTANCES = frozenset(("instance_of", "relationship"))
_READ = {"Term": _TERMS, "Typedef": _TYPEDEFS, "Instance": _INSTANCES}
_HEADER = frozenset(("import", "ontology", "owl-axioms"))
_TREATED = "treat-xrefs-as-"


@dataclass
class _Frame:
    """A stanza: what it is about, and those of its clauses that say something."""

    kind: str
    line: int
    name: str = ""
    clauses: list[tuple[str, str, int]] = field(default_factory=list)


_Parts: TypeAlias = tuple[list[str], dict[str, str]]
"""The words of a clause, and its modifiers."""


def read(text: str, file: str) -> Ontology:
    """The ontology in the text of an OBO file."""
    header, frames, labels = _Frames(file).of(text)
    return _Reading(file, header, frames, labels).ontology()


class _Frames:
    """Cuts a text into frames, without what is for people."""

    def __init__(self, file: str) -> None:
        self._file = file

    def of(self, text: str) -> tuple[list[tuple[str, str, int]], list[_Frame], dict[str, str]]:
        """The header's clauses, the frames, and the labels."""
        header = _Frame("header", 0)
        frame, wanted = header, _HEADER
        frames: list[_Frame] = []
        labels: dict[str, str] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            tag, colon, value = line.partition(":")
            if not colon or tag[:1] in "[!":
                if found := self._stanza(line, number):
                    frame, wanted = _Frame(found, number), _READ.get(found, frozenset())
                    frames.append(frame)
            elif tag in wanted:
                frame.clauses.append((tag, value, number))
            elif tag == "id" and not frame.name:
                frame.name = self._name(value, number)
            elif tag == "name" and frame.name:
                labels.setdefault(frame.name, _unescaped(value.partition(" !")[0].strip()))
            elif tag.startswith(_TREATED) and frame is header:
                header.clauses.append((tag, value, number))
        return header.clauses, [one for one in frames if self._checked(one)], labels

    def _stanza(self, line: str, number: int) -> str:
        """The kind of the stanza that a line opens; "" for a comment or a blank line."""
        stripped = line.strip()
        if not stripped or stripped.startswith("!"):
            return ""
        if (found := _STANZA.match(stripped)) is None:
            raise InputError(
                "found neither a stanza nor a tag, expected OBO",
                place=Place(self._file, number),
                source=shown_line(stripped),
                hint="a stanza is a line such as [Term], a clause is a line such as is_a: GO:0005634 ! nucleus",
            )
        return found[1].strip()

    def _name(self, value: str, number: int) -> str:
        words, _ = _parts(value)
        if not words:
            raise _malformed("an id without a name", self._file, number, "id: GO:0005634")
        return named(words[0])

    def _checked(self, frame: _Frame) -> bool:
        if not frame.name and frame.kind in _READ:
            raise _malformed(f"a [{frame.kind}] without an id", self._file, frame.line, "id: GO:0005634")
        return frame.kind in _READ


def named(word: str) -> str:
    """The name that a word of a clause stands for."""
    word = _unescaped(word)
    return _NAMED.get(word) or contracted(word)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _parts(value: str) -> _Parts:
    """The words of a clause up to its comment, and its modifiers."""
    if _NOT_PLAIN.search(value) is None:
        return value.split(), {}
    words: list[str] = []
    for token in _TOKEN.finditer(value):
        if token[0] == "!":
            break
        if token[0][0] == "{":
            found = _MODIFIER.finditer(value, token.start())
            return words, {item[1]: _unescaped(item[2] if item[3] is None else item[3]) for item in found}
        words.append(token[0])
    return words, {}


def _malformed(found: str, file: str, line: int, example: str) -> InputError:
    return InputError(f"found {found}", place=Place(file, line), hint=f"write, for example, {example}")


class _Reading:
    """Makes axioms of frames."""

    def __init__(
        self,
        file: str,
        header: Sequence[tuple[str, str, int]],
        frames: Sequence[_Frame],
        labels: Mapping[str, str],
    ) -> None:
        self._file, self._header, self._frames, self._labels = file, header, frames, labels
        self._axioms: dict[Axiom, None] = {}
        self._facts: dict[tuple[str, str, str], None] = {}
        self._unread: dict[str, tuple[int, str]] = {}
        self._annotating = {
            frame.name
            for frame in frames
            if frame.kind == "Typedef"
            for tag, value, _ in frame.clauses
            if tag in _ANNOTATING and _is_true(value)
        }
        self._metadata = {
            frame.name
            for frame in frames
            if any(tag == "is_metadata_tag" and _is_true(value) for tag, value, _ in frame.clauses)
        }

    def ontology(self) -> Ontology:
        for tag, value, number in self._header:
            if tag not in ("import", "ontology"):
                self._lacking(tag, value, number)
        for frame in self._frames:
            {"Term": self._term, "Typedef": self._typedef, "Instance": self._instance}[frame.kind](frame)
        names = {
            kind: frozenset(frame.name for frame in self._frames if frame.kind == kind) for kind in _READ
        }
        return Ontology(
            self._file,
            tuple(self._axioms),
            tuple(self._facts),
            tuple(
                Unread(f"{kind} axioms", count, first, "axiom")
                for kind, (count, first) in self._unread.items()
            ),
            self._labels,
            classes=names["Term"],
            properties=names["Typedef"] - self._annotating,
            imports=tuple(value.strip() for tag, value, _ in self._header if tag == "import"),
            name=next((value.strip() for tag, value, _ in self._header if tag == "ontology"), ""),
            is_a=IS_A,
        )

    def _lacking(self, tag: str, value: str, number: int) -> None:
        count, first = self._unread.get(tag, (0, f"{self._file}:{number}: {tag}: {value.strip()[:200]}"))
        self._unread[tag] = count + 1, first

    def _words(self, tag: str, value: str, number: int, least: int) -> _Parts:
        words, modifiers = _parts(value)
        if len(words) < least:
            raise _malformed(
                f"'{tag}:' with {len(words)} of {least} names",
                self._file,
                number,
                _EXAMPLES.get(tag, _EXAMPLE),
            )
        return [named(word) for word in words[:least]], modifiers

    # --- terms --------------------------------------------------------------------------------------

    def _term(self, frame: _Frame) -> None:
        genus: list[ClassExpression] = []
        union: list[ClassExpression] = []
        for tag, value, number in frame.clauses:
            if tag == "relationship":
                self._related(frame, value, number)
            elif tag == "intersection_of":
                genus.append(self._part(tag, value, number))
            elif tag == "union_of":
                union.append(self._part(tag, value, number))
            else:
                (other,), modifiers = self._words(tag, value, number, 1)
                if tag == IS_A:
                    self._axioms[SubClassOf(_left(frame.name, modifiers), other)] = None
                else:
                    make = EquivalentClasses if tag == "equivalent_to" else DisjointClasses
                    self._axioms[make((frame.name, other))] = None
        if genus:
            self._axioms[
                EquivalentClasses((frame.name, And(tuple(genus)) if len(genus) > 1 else genus[0]))
            ] = None
        if union:
            self._axioms[
                EquivalentClasses((frame.name, Or(tuple(union)) if len(union) > 1 else union[0]))
            ] = None

    def _part(self, tag: str, value: str, number: int) -> ClassExpression:
        """A part of a definition: a class, or a relation and a class."""
        words, modifiers = _parts(value)
        if len(words) < 2:
            (only,), _ = self._words(tag, value, number, 1)
            return only
        return _restriction(named(words[0]), named(words[1]), modifiers)

    def _related(self, frame: _Frame, value: str, number: int) -> None:
        (relation, other), modifiers = self._words("relationship", value, number, 2)
        if relation not in self._annotating:
            self._axioms[
                SubClassOf(_left(frame.name, modifiers), _restriction(relation, other, modifiers))
            ] = None

    # --- relations and instances --------------------------------------------------------------------

    def _typedef(self, frame: _Frame) -> None:
        if frame.name in self._metadata:
            return
        for tag, value, number in frame.clauses:
            if tag in _KINDS:
                if _is_true(value):
                    self._axioms[PropertyIs(_KINDS[tag], frame.name)] = None
            elif tag in _OF_PROPERTIES:
                least, make = _OF_PROPERTIES[tag]
                words, _ = self._words(tag, value, number, least)
                self._axioms[make(frame.name, *words)] = None
                if tag == "equivalent_to_chain":  # the other direction is no axiom of OWL
                    self._lacking(tag, value, number)
            elif tag not in _ANNOTATING and (tag != "is_anti_symmetric" or _is_true(value)):
                self._lacking(tag, value, number)

    def _instance(self, frame: _Frame) -> None:
        for tag, value, number in frame.clauses:
            if tag == "instance_of":
                (cls,), _ = self._words(tag, value, number, 1)
                self._facts[frame.name, TYPE, cls] = None
            else:
                (relation, other), _ = self._words(tag, value, number, 2)
                self._facts[frame.name, relation, other] = None


_EXAMPLE = "is_a: GO:0005634 ! nucleus"
_EXAMPLES = {
    "relationship": "relationship: part_of GO:0005623",
    "holds_over_chain": "holds_over_chain: regulates part_of",
    "equivalent_to_chain": "equivalent_to_chain: regulates part_of",
}


def _is_true(value: str) -> bool:
    return value.split(maxsplit=1)[:1] == ["true"]


def _left(name: str, modifiers: Mapping[str, str]) -> ClassExpression:
    """What an axiom is about: the class, or only what of it has another relation as well."""
    if "gci_relation" in modifiers and "gci_filler" in modifiers:
        return And((name, Some(named(modifiers["gci_relation"]), named(modifiers["gci_filler"]))))
    return name


def _restriction(relation: str, filler: str, modifiers: Mapping[str, str]) -> ClassExpression:
    """What a relationship says, as its modifiers change it."""
    found: list[ClassExpression] = []
    for name, kind in (("minCardinality", AtLeast), ("maxCardinality", AtMost), ("cardinality", Exactly)):
        if (count := modifiers.get(name, "")).isdecimal():
            number = int(count[:9])
            found.append(
                All(relation, Not(filler))
                if number == 0 and kind is not AtLeast
                else kind(number, relation, filler)
            )
    if modifiers.get("all_only") == "true":
        found.append(All(relation, filler))
        if modifiers.get("all_some") == "true":
            found.append(Some(relation, filler))
    if not found:
        return Some(relation, filler)
    return found[0] if len(found) == 1 else And(tuple(found))
