"""Names of classes as people write them: CURIEs of OBO."""

from __future__ import annotations

import re

OBO = "http://purl.obolibrary.org/obo/"
_LOCAL = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)_([A-Za-z0-9]\S*)\Z")
_CURIE = re.compile(r"([A-Za-z][A-Za-z0-9.-]*):([A-Za-z0-9][^\s/:]*)\Z")


def contracted(name: str) -> str:
    """An IRI of OBO as its CURIE; any other name as it is.

    >>> contracted("http://purl.obolibrary.org/obo/GO_0005634"), contracted("http://purl.obolibrary.org/obo/go.owl")
    ('GO:0005634', 'http://purl.obolibrary.org/obo/go.owl')
    """
    if not name.startswith(OBO):
        return name
    found = _LOCAL.match(name, len(OBO))
    return f"{found[1]}:{found[2]}" if found else name


def expanded(name: str) -> str | None:
    """The IRI that a CURIE of OBO stands for; None for any other name.

    >>> expanded("GO:0005634"), expanded("part_of")
    ('http://purl.obolibrary.org/obo/GO_0005634', None)
    """
    found = _CURIE.match(name)
    return f"{OBO}{found[1]}_{found[2]}" if found else None
