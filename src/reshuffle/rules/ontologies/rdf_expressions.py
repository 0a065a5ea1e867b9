"""Class expressions, lists and names in the triples of an ontology.

Nodes of expressions and lists are usually blank, but any node may be one. They are read once each, however often they
are used. An expression that contains itself, that is too deep, or whose shared parts multiply is `Unknown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import from_iri
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, UnreadableError, shortened
from reshuffle.rules.ontologies.axioms import (
    All,
    And,
    AtLeast,
    AtMost,
    Datatype,
    Exactly,
    HasSelf,
    HasValue,
    Literal,
    Not,
    OneOf,
    Or,
    Some,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reshuffle.rules.ontologies.axioms import ClassExpression

XSD = "http://www.w3.org/2001/XMLSchema#"
_DATATYPES = frozenset(
    {
        f"{RDFS}Literal",
        f"{RDF}PlainLiteral",
        f"{RDF}XMLLiteral",
        f"{RDF}langString",
        f"{OWL}real",
        f"{OWL}rational",
    }
)
DEEPEST = 100
"""Expressions inside each other."""
LARGEST = 1_000_000
"""Parts of all large expressions of a file together; shared ones count as often as they are used."""
_SMALL = 1_000  # parts of an expression that need no counting
TOO_DEEP, TOO_LARGE = (
    f"expressions more than {DEEPEST:,} deep",
    "expressions that are far larger than the file",
)
CIRCULAR = "an expression that contains itself"
_COUNTED: dict[str, Any] = {
    f"{OWL}minCardinality": AtLeast,
    f"{OWL}maxCardinality": AtMost,
    f"{OWL}cardinality": Exactly,
    f"{OWL}minQualifiedCardinality": AtLeast,
    f"{OWL}maxQualifiedCardinality": AtMost,
    f"{OWL}qualifiedCardinality": Exactly,
}
_BOOLEAN = (f"{OWL}intersectionOf", f"{OWL}unionOf", f"{OWL}complementOf", f"{OWL}oneOf")
DEFINING = frozenset({*_BOOLEAN, f"{OWL}onProperty", f"{OWL}onDatatype", f"{OWL}onProperties"})
"""Whatever has one of these is a class expression."""
STRUCTURE = frozenset(
    {
        *DEFINING,
        *_COUNTED,
        *(f"{OWL}{name}" for name in ("someValuesFrom", "allValuesFrom", "hasValue", "hasSelf", "onClass")),
        *(
            f"{OWL}{name}"
            for name in ("inverseOf", "members", "distinctMembers", "withRestrictions", "onDataRange")
        ),
        *(
            f"{OWL}{name}"
            for name in ("sourceIndividual", "assertionProperty", "targetIndividual", "targetValue")
        ),
        *(
            f"{OWL}{name}"
            for name in ("annotatedSource", "annotatedProperty", "annotatedTarget", "datatypeComplementOf")
        ),
        f"{RDF}first",
        f"{RDF}rest",
    }
)
"""The properties that expressions, lists and axioms of several triples are made of."""


class Nodes:
    """What the nodes of a graph stand for."""

    def __init__(self, library: Any, described: dict[Any, dict[str, Any]], datatypes: Iterable[Any]) -> None:
        self._library, self.described = library, described
        self._datatypes = frozenset(datatypes)
        self._names: dict[Any, str] = {}
        self._blank = 0
        self._read: dict[Any, tuple[ClassExpression, int, int]] = {}  # with depth and size
        self._open: set[Any] = set()
        self._left = LARGEST

    # --- names --------------------------------------------------------------------------------------

    def name(self, node: Any) -> str:
        """The name of an IRI or a blank node; blank nodes are numbered, so that every reading gives the same names."""
        known = self._names.get(node)
        if known is not None:
            return known
        if isinstance(node, self._library.NamedNode):
            name = from_iri(node.value)
        elif isinstance(node, self._library.BlankNode):
            self._blank += 1
            name = f"_:b{self._blank}"
        else:
            raise UnreadableError("a literal")
        self._names[node] = name
        return name

    def is_named(self, node: Any) -> bool:
        """Is it an IRI?"""
        return isinstance(node, self._library.NamedNode)

    def relation(self, node: Any) -> str:
        """The property that a node names: an IRI, or an anonymous inverse of one."""
        if self.is_named(node):
            return self.name(node)
        inverted = self.described.get(node, {}).get(f"{OWL}inverseOf")
        if not self.is_named(inverted):
            raise UnreadableError
        return inverse_name(self.name(inverted))

    def value(self, node: Any) -> str | Literal:
        """An individual or a literal."""
        if not isinstance(node, self._library.Literal):
            return self.name(node)
        return Literal(node.value, f"@{node.language}" if node.language else node.datatype.value)

    def members(self, node: Any) -> list[Any]:
        """The nodes of an RDF list."""
        found: list[Any] = []
        seen: set[Any] = set()
        while (cell := self.described.get(node)) is not None and node not in seen:
            if f"{RDF}first" not in cell:
                break
            seen.add(node)  # a list may be a circle
            found.append(cell[f"{RDF}first"])
            node = cell.get(f"{RDF}rest")
        if getattr(node, "value", "") != f"{RDF}nil":
            raise UnreadableError
        return found

    def relations(self, node: Any) -> tuple[str, ...]:
        """The properties of an RDF list."""
        return tuple(map(self.relation, self.members(node)))

    # --- classes ------------------------------------------------------------------------------------

    def class_(self, node: Any) -> ClassExpression:
        """The class that a node stands for: a name, or what a blank node describes."""
        return self._counted(self._class(node))

    def defined_class(self, node: Any, predicate: str, target: Any) -> ClassExpression:
        """What one triple says of a class with a name, which may have several definitions; a restriction takes more."""
        if predicate in _BOOLEAN:
            said = {predicate: target}
        else:
            all_said = self.described.get(node, {})
            said = {name: value for name, value in all_said.items() if name not in _BOOLEAN}
        return self._counted(self._described((node, predicate, target), said))

    def _counted(self, found: tuple[ClassExpression, int, int]) -> ClassExpression:
        expression, _, size = found
        if size <= _SMALL:
            return expression
        self._left -= size
        return expression if self._left >= 0 else Unknown(TOO_LARGE)

    def is_datatype(self, node: Any) -> bool:
        """Is it a datatype?"""
        iri = getattr(node, "value", "")
        return iri.startswith(XSD) or iri in _DATATYPES or node in self._datatypes

    def _class(self, node: Any) -> tuple[ClassExpression, int, int]:
        if self.is_datatype(node):
            return Datatype(getattr(node, "value", "")), 1, 1
        if self.is_named(node):
            return self.name(node), 1, 1
        return self._described(node, self.described.get(node, {}))

    def _described(self, node: Any, said: dict[str, Any]) -> tuple[ClassExpression, int, int]:
        if node in self._read:
            return self._read[node]
        if node in self._open:
            return Unknown(CIRCULAR), 1, 1
        if len(self._open) > DEEPEST:
            return Unknown(TOO_DEEP), 1, 1
        self._open.add(node)
        try:
            found = self._checked(said)
        except UnreadableError as error:
            found = Unknown(str(error)), 1, 1
        self._open.discard(node)
        self._read[node] = found
        return found

    def _checked(self, said: dict[str, Any]) -> tuple[ClassExpression, int, int]:
        inner: list[tuple[int, int]] = []

        def part(of: Any) -> ClassExpression:
            expression, depth, size = self._class(of)
            inner.append((depth, size))
            return expression

        found = _expression(self, said, part)
        depth, size = 1 + max((deep for deep, _ in inner), default=0), 1 + sum(large for _, large in inner)
        if depth > DEEPEST:
            return Unknown(TOO_DEEP), 1, 1
        if size > LARGEST:
            return Unknown(TOO_LARGE), 1, LARGEST  # so that what contains it is too large as well
        return found, depth, size


def _expression(
    nodes: Nodes, said: dict[str, Any], part: Callable[[Any], ClassExpression]
) -> ClassExpression:
    get = said.get
    if (members := get(f"{OWL}intersectionOf")) is not None:
        return And(tuple(map(part, nodes.members(members))))
    if (members := get(f"{OWL}unionOf")) is not None:
        return Or(tuple(map(part, nodes.members(members))))
    if (other := get(f"{OWL}complementOf")) is not None:
        return Not(part(other))
    if (members := get(f"{OWL}oneOf")) is not None:
        return OneOf(tuple(map(nodes.value, nodes.members(members))))
    if f"{OWL}onDatatype" in said or f"{OWL}datatypeComplementOf" in said:
        return Datatype("owl:onDatatype")
    if (relation := get(f"{OWL}onProperty")) is not None:
        return _restriction(nodes, nodes.relation(relation), said, part)
    raise UnreadableError("owl:onProperties" if f"{OWL}onProperties" in said else "")


def _restriction(
    nodes: Nodes, relation: str, said: dict[str, Any], part: Callable[[Any], ClassExpression]
) -> ClassExpression:
    get = said.get
    if (filler := get(f"{OWL}someValuesFrom")) is not None:
        return Some(relation, part(filler))
    if (filler := get(f"{OWL}allValuesFrom")) is not None:
        return All(relation, part(filler))
    if (value := get(f"{OWL}hasValue")) is not None:
        return HasValue(relation, nodes.value(value))
    if f"{OWL}hasSelf" in said:
        return HasSelf(relation)
    for predicate, kind in _COUNTED.items():
        if (count := get(predicate)) is not None:
            return _counted(kind, predicate, count, relation, said, part)
    raise UnreadableError("owl:onProperty")


def _counted(
    kind: Any,
    predicate: str,
    count: Any,
    relation: str,
    said: dict[str, Any],
    part: Callable[[Any], ClassExpression],
) -> ClassExpression:
    try:
        number = int(count.value)
    except (ValueError, AttributeError):
        raise UnreadableError(shortened(predicate)) from None
    filler = said.get(f"{OWL}onClass", said.get(f"{OWL}onDataRange"))
    expression: ClassExpression = (
        kind(number, relation) if filler is None else kind(number, relation, part(filler))
    )
    return expression
