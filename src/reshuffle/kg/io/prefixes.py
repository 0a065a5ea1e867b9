"""Prefixes: short names such as `ex:Company_1` for `http://example.org/Company_1`, and back.

A name is shortened by the longest namespace that it begins with, where the rest is a plain word. Files declare
prefixes as Turtle and SPARQL do (`@prefix ex: <http://example.org/> .`), RDF/XML by `xmlns:ex="..."`; some
common prefixes are always known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.files import GZIP_ERRORS, find_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

_COMMON = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "http://schema.org/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "obo": "http://purl.obolibrary.org/obo/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
_PREFIX = r"[A-Za-z][\w-]*(?:\.[\w-]+)*|"
_IRI = r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"\s]*"
_ENCODED = "%[0-9A-Fa-f]{2}"
_WORD = re.compile(rf"(?:\w|{_ENCODED})(?:(?:[\w.-]|{_ENCODED})*(?:[\w-]|{_ENCODED}))?\Z")
# Several may stand on one line, one after the other.
_DECLARED = re.compile(
    rf"(?:^|(?<=>)[ \t]*\.?)[ \t]*(?:@prefix|PREFIX|prefix)\s+({_PREFIX}):\s*<({_IRI})>", re.MULTILINE
)
_IN_XML = re.compile(rf"xmlns:([A-Za-z][\w-]*)\s*=\s*[\"']({_IRI})[\"']")
_LISTED = re.compile(rf"({_PREFIX}):?[\s,;=]+<?({_IRI})>?\s*\.?\Z")
_OPENING = 1 << 20  # bytes of a file that are searched for prefixes


@dataclass(frozen=True)
class Prefixes:
    """Namespaces by prefix.

    >>> known = Prefixes({"ex": "http://example.org/"})
    >>> known.shortened("http://example.org/ada"), known.shortened("http://example.org/a b"), known.expanded("ex:ada")
    ('ex:ada', 'http://example.org/a b', 'http://example.org/ada')
    >>> known.expanded("other:ada") is None
    True
    """

    namespaces: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        return sorted(self.namespaces.items(), key=lambda item: (-len(item[1]), item[0]))

    def shortened(self, name: str) -> str:
        """The name with a prefix, or as it is where none fits."""
        for prefix, namespace in self._longest_first:
            if name.startswith(namespace) and _WORD.match(name, len(namespace)):
                return f"{prefix}:{name[len(namespace) :]}"
        return name

    def expanded(self, name: str) -> str | None:
        """The full name that a short one stands for; None where its prefix is not declared."""
        prefix, colon, local = name.partition(":")
        namespace = self.namespaces.get(prefix)
        return None if not colon or namespace is None or local.startswith("//") else namespace + local

    def used_in(self, names: Iterable[str]) -> Prefixes:
        """Only the prefixes that shorten one of the names."""
        used = {self.shortened(name).partition(":")[0] for name in names if self.shortened(name) != name}
        return Prefixes({prefix: space for prefix, space in self.namespaces.items() if prefix in used})

    def __or__(self, other: Prefixes) -> Prefixes:
        """Both; `other` wins where they differ."""
        return Prefixes({**self.namespaces, **other.namespaces})


COMMON = Prefixes(_COMMON)
"""What everybody knows: RDF, RDFS, OWL, SKOS, FOAF, Dublin Core, Wikidata, ..."""


def declared_in(text: str) -> Prefixes:
    """The prefixes that a text in Turtle, SPARQL, RDF/XML or our rule syntax declares.

    >>> declared_in("@prefix ex: <http://example.org/> .").namespaces
    {'ex': 'http://example.org/'}
    """
    return Prefixes(dict([*_IN_XML.findall(text), *_DECLARED.findall(text)]))


def prefixes_of(path: str | PathLike[str]) -> Prefixes:
    """The prefixes that the opening of a file declares; none where it is no text, or cannot be read."""
    try:
        with find_source(path).open(lambda _: None) as stream:
            return declared_in(stream.read(_OPENING).decode(errors="replace"))
    except (*GZIP_ERRORS, InputError, OSError):  # the reader of the file says what is wrong
        return Prefixes()


def prefixes_among(paths: Iterable[str | PathLike[str]], more: str | PathLike[str] | None = None) -> Prefixes:
    """The common prefixes, those that files declare, and those of the file `more`, which is made of them."""
    known = COMMON
    for path in paths:
        if Path(path).is_file():
            known |= prefixes_of(path)
    return known if more is None else known | read_prefixes(more)


def read_prefixes(path: str | PathLike[str]) -> Prefixes:
    """The prefixes of a file that is made of them: as Turtle and SPARQL declare them, or lines `prefix namespace`."""
    found: dict[str, str] = {}
    source = find_source(path)
    with source.open(lambda _: None) as stream:
        text = stream.read(_OPENING).decode("utf-8-sig", errors="replace")
    found.update(declared_in(text).namespaces)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#") or _DECLARED.match(line) or _IN_XML.search(line):
            continue
        if (listed := _LISTED.match(line.strip())) is None:
            raise InputError(
                f"found '{line.strip()[:60]}', expected a prefix and its namespace",
                place=source.place(number),
                hint="write @prefix ex: <http://example.org/> . or ex http://example.org/ on each line",
            )
        found[listed[1]] = listed[2]
    return Prefixes(found)
