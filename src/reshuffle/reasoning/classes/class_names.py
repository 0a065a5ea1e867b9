"""How classes and properties are shown, and what a person may type: CURIEs, full names, and labels that are unique."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.kg.io.prefixes import COMMON, Prefixes
from reshuffle.rules.ontologies.axioms import NOTHING, THING
from reshuffle.rules.ontologies.names import contracted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_CONSTANTS = {"owl:Thing": THING, "owl:Nothing": NOTHING}


class ShortNames:
    """Names of an ontology, each with its short form; one that two names would share stays as it is."""

    def __init__(
        self,
        names: Iterable[str],
        prefixes: Mapping[str, str],
        labels: Mapping[str, str],
        *,
        short: bool = True,
    ) -> None:
        self._labels = labels
        self._default = prefixes.get("")
        declared = {prefix: space for prefix, space in prefixes.items() if prefix}
        self._known = Prefixes({**COMMON.namespaces, **declared}) if short else None
        self._by_full: dict[str, str] = {}
        self._by_short: dict[str, str] = {}
        self.add(names)

    def add(self, names: Iterable[str]) -> None:
        """Take more names."""
        for name in names:
            if name not in self._by_full:
                shown = name if self._known is None else _short(name, self._known)
                if shown in self._by_short:
                    shown = name
                self._by_full[name] = shown
                self._by_short[shown] = name

    def __getitem__(self, name: str) -> str:
        """The short form of a full name."""
        return self._by_full.get(name, name)

    def full(self, typed: str) -> str | None:
        """The name that somebody typed: short or full, or the label of one name alone; None where it is none."""
        if typed in self._by_short:
            return self._by_short[typed]
        if typed.startswith(":") and self._default is not None:
            typed = self._default + typed[1:]
        if typed in _CONSTANTS:
            return _CONSTANTS[typed]
        return typed if typed in self._by_full or typed in _CONSTANTS.values() else self._by_label.get(typed)

    @property
    def shown(self) -> Iterable[str]:
        """All short names."""
        return self._by_short

    @property
    def labels(self) -> dict[str, str]:
        """The label of each short name that has one and does not say the same."""
        labels = ((shown, self._labels.get(full, "")) for shown, full in self._by_short.items())
        return {shown: label for shown, label in labels if label and label.replace(" ", "_") != shown}

    @cached_property
    def _by_label(self) -> dict[str, str]:
        found: dict[str, str] = {}
        twice: set[str] = set()
        for name in self._by_full:
            label = self._labels.get(name)
            if label is not None:
                twice.update((label,) if label in found else ())
                found[label] = name
        return {label: name for label, name in found.items() if label not in twice}


def _short(name: str, known: Prefixes) -> str:
    curie = contracted(name)
    return curie if curie != name else known.shortened(name)
