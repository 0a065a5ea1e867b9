"""Labels of identifiers, from lines `name<TAB>label`, from an RDF file, or from the names in an OBO file.

If a name has several labels in RDF, a label without a language is preferred, then an English one; `rdfs:label` is
preferred to `skos:prefLabel`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.files import GZIP_ERRORS, STDIN, Format, broken_gzip, find_source, format_of
from reshuffle.kg.io.rdf import RDF, from_iri, pyoxigraph, quads_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from reshuffle.kg.io.files import Source

_PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
)
_OBO = (".obo", ".obo.gz")
LABELLED = (".ttl", ".n3", ".nt", ".rdf", ".nq", ".trig", ".jsonld", *_OBO)
"""The endings of files that may hold labels."""
_ESCAPED = re.compile(r"\\(.)")
_LOOKED_AT = 1 << 16  # bytes of an ontology, in which RDF has begun
_LARGEST = 1 << 30  # bytes of a file of lines, unpacked
_MOST_BYTES = 50_000_000  # of an RDF file that is searched for labels without being asked to


def labels_among(paths: Iterable[str | PathLike[str]]) -> dict[str, str]:
    """The labels in those of the files that are RDF or OBO, and not too large to be searched for them.

    A label of OBO that only repeats the name, such as "part of", is left out.
    """
    labels: dict[str, str] = {}
    for file in map(Path, paths):
        if file.is_file() and file.stat().st_size <= _MOST_BYTES and _may_hold_labels(file):
            found = read_labels(file)
            labels |= (
                {name: label for name, label in found.items() if label.replace(" ", "_") != name}
                if _is_obo(file)
                else found
            )
    return labels


def _is_obo(path: str | PathLike[str]) -> bool:
    return str(path).lower().endswith(_OBO)


def _may_hold_labels(file: Path) -> bool:
    """By its ending; an ontology only where it is RDF, and not another syntax of OWL."""
    ending = file.suffix.lower()
    if ending == ".owl":
        with file.open("rb") as text:
            return b"<rdf:RDF" in text.read(_LOOKED_AT)
    return ending in LABELLED or _is_obo(file)


def read_labels(path: str | PathLike[str]) -> dict[str, str]:
    """The label of each name in a file."""
    if _is_obo(path):
        return _of_obo(find_source(path))
    form = Format.TSV if path == STDIN else format_of(path)
    source = find_source(path)
    return _of_rdf(source, form) if form in RDF else _of_lines(source)


def _of_rdf(source: Source, form: Format) -> dict[str, str]:
    library = pyoxigraph(source.place())
    best: dict[str, tuple[tuple[int, int], str]] = {}
    try:
        for found in quads_of(source, form):
            if found.predicate.value in _PREDICATES and isinstance(found.object, library.Literal):
                rank = (_language(found.object.language), _PREDICATES.index(found.predicate.value))
                subject = found.subject
                is_named = isinstance(subject, library.NamedNode)
                name = from_iri(subject.value) if is_named else str(subject)
                if name not in best or rank < best[name][0]:
                    best[name] = (rank, found.object.value)
    except SyntaxError as error:
        raise InputError(
            f"{error.msg}, expected {form.value}", place=source.place(error.lineno), hint="check the file"
        ) from None
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=1) from error
    return {name: label for name, (_, label) in best.items()}


def _language(tag: str | None) -> int:
    """How welcome a language is: none at all, English, another."""
    return 0 if tag is None else 1 if tag.lower().split("-")[0] == "en" else 2


def _of_obo(source: Source) -> dict[str, str]:
    """The first name of each stanza, by its id. What is malformed holds no label."""
    labels: dict[str, str] = {}
    identifier = ""
    for line in source.read_text(most=_LARGEST).decode("utf-8-sig", errors="replace").split("\n"):
        tag, _, value = line.partition(":")
        if line.startswith("["):
            identifier = ""
        elif tag == "id" and not identifier:
            identifier = _unescaped(value.split("!")[0].split("{")[0])
        elif tag == "name" and identifier:
            labels.setdefault(identifier, _unescaped(value.partition(" !")[0]))
    return labels


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.strip())


def _of_lines(source: Source) -> dict[str, str]:
    labels: dict[str, str] = {}
    text = source.read_text(most=_LARGEST).decode("utf-8-sig", errors="replace")
    for number, line in enumerate(text.split("\n"), start=1):
        name, tab, label = line.rstrip("\r").partition("\t")
        if line.strip() and not (tab and label.strip()):
            raise InputError(
                f"found '{line[:60]}', expected a name, a tab and its label",
                place=source.place(number),
                hint="labels are lines name<TAB>label, an RDF file with rdfs:label, or an OBO file",
            )
        if tab:
            labels[name] = label.strip()
    return labels
