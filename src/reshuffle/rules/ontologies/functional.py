"""The functional syntax of OWL 2 (`.ofn`): terms in parentheses, read by one pass with a stack."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import InputError, Place
from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import from_iri
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS
from reshuffle.rules.ontologies.axioms import (
    All,
    And,
    AtLeast,
    AtMost,
    Axiom,
    ClassAssertion,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    Exactly,
    HasKey,
    HasSelf,
    HasValue,
    InverseProperties,
    Kind,
    Literal,
    NegativeAssertion,
    Not,
    OneOf,
    Ontology,
    Or,
    PropertyAssertion,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    SameIndividuals,
    Some,
    SubClassOf,
    SubProperty,
    Unknown,
)
from reshuffle.rules.ontologies.rdf_expressions import DEEPEST
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = f"{RDF}type"
_TOKEN = re.compile(
    r'[()]|"(?:[^"\\]|\\.)*"(?:\^\^(?:<[^<>\s]*>|[^\s()]+)|@[\w-]+)?|<[^<>\s]*>|#[^\n]*|=|[^\s()<>"=]+|\S',
    re.DOTALL,
)


class Term:
    """A term that is no axiom: its word and its arguments, and the line it is on."""

    __slots__ = ("arguments", "line", "word")

    def __init__(self, word: str, line: int) -> None:
        self.word, self.line = word, line
        self.arguments: list[Any] = []


Found: TypeAlias = Axiom | tuple[str, str, str]
_EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "IntersectionOf": lambda *members: And(members),
    "UnionOf": lambda *members: Or(members),
    "ComplementOf": Not,
    "OneOf": lambda *members: OneOf(members),
    "SomeValuesFrom": Some,
    "AllValuesFrom": All,
    "HasValue": HasValue,
    "HasSelf": HasSelf,
    "MinCardinality": lambda count, *rest: AtLeast(int(count), *rest),
    "MaxCardinality": lambda count, *rest: AtMost(int(count), *rest),
    "ExactCardinality": lambda count, *rest: Exactly(int(count), *rest),
    "InverseOf": inverse_name,
    "PropertyChain": lambda *chain: chain,
}
_KINDS = {kind.value.removeprefix("owl:").removesuffix("Property"): kind for kind in Kind}
_AXIOMS: dict[str, Callable[..., Axiom]] = {
    "SubClassOf": SubClassOf,
    "EquivalentClasses": lambda *members: EquivalentClasses(members),
    "DisjointClasses": lambda *members: DisjointClasses(members),
    "DisjointUnion": lambda cls, *members: DisjointUnion(cls, members),
    "HasKey": lambda cls, *groups: HasKey(cls, tuple(name for group in groups for name in group)),
    "SubPropertyOf": lambda sub, sup: (
        PropertyChain(sub, sup) if isinstance(sub, tuple) else SubProperty(sub, sup)
    ),
    "EquivalentProperties": lambda *members: EquivalentProperties(members),
    "InverseProperties": InverseProperties,
    "DisjointProperties": lambda *members: DisjointProperties(members),
    "PropertyDomain": PropertyDomain,
    "PropertyRange": PropertyRange,
    **{
        f"{name}Property": lambda relation, kind=kind: PropertyIs(kind, relation)
        for name, kind in _KINDS.items()
    },
    "ClassAssertion": ClassAssertion,
    "PropertyAssertion": PropertyAssertion,
    "NegativePropertyAssertion": NegativeAssertion,
    "SameIndividual": lambda *members: SameIndividuals(members),
    "DifferentIndividuals": lambda *members: DifferentIndividuals(members),
}
_SILENT = frozenset(
    (
        "AnnotationAssertion",
        "SubAnnotationPropertyOf",
        "AnnotationPropertyDomain",
        "AnnotationPropertyRange",
        "Annotation",
    )
)
_STANDARD = {"owl": OWL, "rdf": RDF, "rdfs": RDFS, "xsd": _XSD}
_LABEL = f"{RDFS}label"


def read(text: str, file: str) -> Ontology:
    """The ontology in the text of a file in functional syntax."""
    return _Reader(text, file).ontology()


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        self._prefixes = dict(_STANDARD)
        self._axioms: dict[Axiom, None] = {}
        self._facts: dict[tuple[str, str, str], None] = {}
        self._labels: dict[str, str] = {}
        self._declared: dict[str, set[str]] = {}
        self._unread: dict[str, tuple[int, str]] = {}
        self._imports: list[str] = []
        self._name = ""

    def ontology(self) -> Ontology:
        self._walk()
        properties = (self._declared.get(kind, set()) for kind in ("ObjectProperty", "DataProperty"))
        return Ontology(
            self._file,
            tuple(self._axioms),
            tuple(self._facts),
            tuple(Unread(kind, count, first, "axiom") for kind, (count, first) in self._unread.items()),
            self._labels,
            classes=frozenset(self._declared.get("Class", set())),
            properties=frozenset().union(*properties),
            prefixes={prefix: space for prefix, space in self._prefixes.items() if prefix},
            imports=tuple(self._imports),
            name=self._name,
        )

    # --- terms --------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Read term by term; those directly in the ontology are axioms, and none stays in memory."""
        stack: list[Term] = []
        word: tuple[str, int] | None = None
        for token, line in self._tokens():
            if token == "(":
                if word is None:
                    raise self._wrong("'(' without a word before it", line)
                if len(stack) > DEEPEST:
                    raise self._wrong(f"terms more than {DEEPEST:,} deep inside each other", line)
                stack.append(Term(*word))
                word = None
                continue
            if word is not None:
                self._leaf(stack, *word)
                word = None
            if token == ")":
                if not stack:
                    raise self._wrong("')' without its '('", line)
                self._close(stack.pop(), stack)
            else:
                word = token, line
        if stack:
            raise self._wrong(f"{stack[-1].word}( without its ')'", stack[-1].line)
        if word is not None:
            raise self._wrong(f"'{word[0][:60]}' outside of the ontology", word[1])

    def _tokens(self) -> Iterator[tuple[str, int]]:
        line, at = 1, 0
        for match in _TOKEN.finditer(self._text):
            line += self._text.count("\n", at, match.start())
            at = match.start()
            if not match[0].startswith("#"):
                yield match[0], line

    def _leaf(self, stack: list[Term], token: str, line: int) -> None:
        if not stack:
            raise self._wrong(f"'{token[:60]}' outside of the ontology", line)
        top = stack[-1]
        if top.word == "Prefix":
            top.arguments.append(token)
        elif top.word == "Ontology":
            self._name = self._name or self._named(token, line)
        else:
            top.arguments.append(self._value(token, line))

    def _value(self, token: str, line: int) -> Any:
        if token.startswith('"'):
            return self._literal(token, line)
        if token.isdecimal():
            return token
        if token.startswith("_:"):
            return token
        name = self._named(token, line)
        return Datatype(name) if name.startswith(_XSD) or name == f"{RDFS}Literal" else name

    def _literal(self, token: str, line: int) -> Literal:
        if (end := token.rfind('"')) == 0:
            raise self._wrong("a text in quotes that does not end", line)
        text = re.sub(r"\\(.)", r"\1", token[1:end])
        kind = token[end + 1 :]
        return Literal(text, self._named(kind[2:], line) if kind.startswith("^^") else kind)

    def _named(self, token: str, line: int) -> str:
        if token.startswith("<"):
            return from_iri(token[1:-1])
        prefix, colon, local = token.partition(":")
        if not colon or prefix not in self._prefixes:
            raise self._wrong(f"'{token[:60]}', whose prefix is not declared", line)
        return from_iri(self._prefixes[prefix] + local)

    def _wrong(self, found: str, line: int) -> InputError:
        return InputError(
            f"found {found}, expected OWL 2 in functional syntax",
            place=Place(self._file, line),
            hint="such as Prefix(:=<http://example.org/>) Ontology(<http://example.org> SubClassOf(:A :B))",
        )

    def _close(self, term: Term, stack: list[Term]) -> None:
        if term.word == "Prefix":
            self._prefixes |= self._prefix(term)
        elif stack and stack[-1].word == "Ontology":
            self._said(term)
        elif stack:
            stack[-1].arguments.append(self._inner(term))

    def _prefix(self, term: Term) -> dict[str, str]:
        parts = "".join(map(str, term.arguments))
        found = re.fullmatch(r"([^:]*):=<([^<>]*)>", parts)
        if found is None:
            raise self._wrong(f"Prefix({parts[:60]})", term.line)
        return {found[1]: found[2]}

    # --- what terms say -----------------------------------------------------------------------------

    def _inner(self, term: Term) -> Any:
        """A term inside of an axiom: an expression, an annotation, a declared name, or a group of properties."""
        if not term.word or term.word in ("Class", "ObjectProperty", "DataProperty", "NamedIndividual"):
            return tuple(term.arguments) if not term.word else term
        if term.word in ("Annotation", "AnnotationProperty", "Datatype"):
            return term
        if term.word in ("DatatypeRestriction", "DataComplementOf", "DataIntersectionOf", "DataUnionOf"):
            return Datatype("owl:onDatatype")
        make = _EXPRESSIONS.get(re.sub(r"^(Object|Data)(?=[A-Z])", "", term.word))
        if make is None:
            return Unknown(term.word)
        try:
            return make(*term.arguments)
        except (TypeError, ValueError, AttributeError):
            raise self._wrong(f"{term.word} with {len(term.arguments)} arguments", term.line) from None

    def _said(self, term: Term) -> None:
        if term.word in _SILENT:
            self._annotate(term)
        elif term.word == "Declaration":
            inner = term.arguments[-1] if term.arguments else None
            if isinstance(inner, Term) and inner.arguments:
                self._declared.setdefault(inner.word, set()).add(str(inner.arguments[0]))
        elif term.word == "Import":
            self._imports += map(str, term.arguments)
        else:
            self._axiom(term)

    def _annotate(self, term: Term) -> None:
        said = [part for part in term.arguments if not isinstance(part, Term)]
        if (
            term.word == "AnnotationAssertion"
            and len(said) == 3
            and said[0] == _LABEL
            and isinstance(said[2], Literal)
        ):
            label = said[2]
            if said[1] not in self._labels or not label.kind.startswith("@") or label.kind.startswith("@en"):
                self._labels[said[1]] = label.text

    def _axiom(self, term: Term) -> None:
        word = re.sub(r"(Object|Data)(?=[A-Z])", "", term.word)
        make, arguments = _AXIOMS.get(word), [part for part in term.arguments if not isinstance(part, Term)]
        if make is None:
            count, first = self._unread.get(term.word, (0, f"{self._file}:{term.line}: {term.word}"))
            self._unread[term.word] = count + 1, first
            return
        try:
            axiom = make(*arguments)
        except (TypeError, ValueError):
            raise self._wrong(f"{term.word} with {len(arguments)} arguments", term.line) from None
        if isinstance(axiom, ClassAssertion) and isinstance(axiom.cls, str):
            self._facts[axiom.individual, TYPE, axiom.cls] = None
        elif isinstance(axiom, PropertyAssertion) and isinstance(axiom.value, str):
            self._facts[axiom.subject, axiom.relation, axiom.value] = None
        else:
            self._axioms[axiom] = None
