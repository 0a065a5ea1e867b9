"""Read an ontology from a file; its ending and its first bytes say in which syntax it is written."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import find_source
from reshuffle.kg.io.prefixes import declared_in
from reshuffle.rules.ontologies import functional, obo, obo_graphs, rdf_axioms

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from reshuffle.rules.ontologies.axioms import Ontology

OBO_ENDINGS = (".obo",)
OTHER_ENDINGS = (".ofn", ".json")
RDF_ENDINGS = (".ttl", ".owl", ".rdf", ".nt", ".n3")
_LARGEST = 1 << 30  # bytes of an ontology, unpacked
_OPENING = 1 << 16  # bytes in which prefixes are declared
_FUNCTIONAL = re.compile(rb"(Prefix|Ontology)\s*\(")


def ending_of(path: str | os.PathLike[str]) -> str:
    """The ending of a file, without that of its packing."""
    name = Path(path)
    return (Path(name.stem) if name.suffix.lower() == ".gz" else name).suffix.lower()


def is_ontology(path: str | os.PathLike[str]) -> bool:
    """Is it, by its ending, an ontology? RDF may be facts as well."""
    return ending_of(path) in (*OBO_ENDINGS, *OTHER_ENDINGS, *RDF_ENDINGS)


def holds_axioms_alone(path: str | os.PathLike[str]) -> bool:
    """Is it in a syntax that no reader of facts knows?"""
    return ending_of(path) in (*OBO_ENDINGS, *OTHER_ENDINGS)


def read_ontology(path: str | os.PathLike[str]) -> Ontology:
    """The axioms of an ontology: OBO, OBO Graph JSON, functional syntax, Turtle, RDF/XML or N-Triples.

    Files may be packed (.gz). What is malformed raises `InputError`.
    """
    file = str(path)
    if Path(path).is_dir():
        raise InputError(
            "a directory, not an ontology", place=Place(file), hint="give one of the files in it"
        )
    content = find_source(file).read_text(most=_LARGEST)
    ending = ending_of(path)
    if ending in OBO_ENDINGS:
        return obo.read(decoded(content, file), file)
    if ending == ".json":
        return obo_graphs.read(content, file)
    if ending == ".ofn" or _FUNCTIONAL.search(content[:_OPENING].lstrip(b"\xef\xbb\xbf \t\r\n"), 0, 20):
        return functional.read(decoded(content, file), file)
    found = rdf_axioms.read(content, file)
    return replace(found, prefixes=declared_in(content[:_OPENING].decode(errors="replace")).namespaces)


def read_ontologies(paths: Sequence[str | os.PathLike[str]]) -> Ontology:
    """The axioms of several ontologies as one, so that each may import another."""
    first, *more = map(read_ontology, paths)
    return reduce(_joined, more, first)


def _joined(one: Ontology, other: Ontology) -> Ontology:
    named = {one.name, other.name}
    return replace(
        one,
        file=f"{one.file} {other.file}",
        axioms=tuple(dict.fromkeys((*one.axioms, *other.axioms))),
        facts=tuple(dict.fromkeys((*one.facts, *other.facts))),
        unread=(*one.unread, *other.unread),
        labels={**other.labels, **one.labels},
        classes=one.classes | other.classes,
        properties=one.properties | other.properties,
        prefixes={**other.prefixes, **one.prefixes},
        imports=tuple(name for name in (*one.imports, *other.imports) if name not in named),
    )


def decoded(content: bytes, file: str) -> str:
    """The text of a file, which is UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8: byte 0x{content[error.start]:02x}",
            place=Place(file, line),
            hint="save the file as UTF-8",
        ) from None
