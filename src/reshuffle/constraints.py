"""Ordering constraints: the common form of rules and of learned models.

A hard B_r of the paper (rows one-hot or zero) is a partial function from slots to slots: row i of B_r has its
one in column `sources[r, i]`, or is zero where that is -1. A triple (e, r, f) is captured when every
constrained slot i has Z_e[sources[r, i]] <= Z_f[i]. Rule graphs compile to this object and learned models
harden to it; reasoning, extraction and injection start from it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import astuple, dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, Place, ReshuffleError, UnknownNameError
from reshuffle.kg import inverse_name
from reshuffle.kg.io.files import Source, written_whole
from reshuffle.kg.io.json_lines import unique_keys
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules import PathRule, parse_rules
from reshuffle.rules.encoding import without_constants
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.rules import Rule, RuleBase

UNCONSTRAINED = -1
FORMAT = "reshuffle-constraints"
VERSION = 1
_LARGEST = 1 << 29  # bytes
# What the values of a file must be, whatever wrote it.
_SCHEMA: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "num_slots": (int,),
        "matrices": (dict,),
        "identities": (list,),
        "hidden": (list,),
        "roots": (dict,),
        "bound": (int, type(None)),
        "rules": (str, type(None)),
    }
)
_MANY_SLOTS = 20_000  # more have to be used
_MOST_ENTRIES = 250_000_000  # relations times slots: a gigabyte
_SHOWN = 40
OPENING = f'{{"format": "{FORMAT}"'.encode()
"""How a file of compiled constraints begins."""


@dataclass(frozen=True)
class OrderingConstraints:
    """`sources[relation, slot]`, and what answering needs to know about it.

    `roots` gives, per relation, the (start, exit) slots that decide it: (a, r, b) follows iff for every pair
    the value that starts in slot `start` of a arrives in slot `exit` of b. A relation without an entry is
    decided by all of its constrained slots, as for a hardened model.
    """

    relations: tuple[str, ...]
    sources: NDArray[np.int32]  # relation slot
    identities: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    roots: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    bound: int | None = None
    rules: RuleBase | None = None

    num_slots: int = field(init=False, repr=False, compare=False)
    """The paper's l."""
    relation_ids: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """The position of each relation in `relations`."""
    answerable: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The user's own relations: no inverse, no identity and no fresh relation.

    A relation that rules name backwards only, as a disjointness may, comes last: it has no matrix of its own.
    """

    def __post_init__(self) -> None:
        self.sources.flags.writeable = False
        derived = {
            "num_slots": int(self.sources.shape[1]),
            "relation_ids": {relation: position for position, relation in enumerate(self.relations)},
            "answerable": tuple(self._own_relations()),
        }
        for name, value in derived.items():  # plain values, since every engine asks for them again and again
            object.__setattr__(self, name, value)

    def _own_relations(self) -> dict[str, None]:
        internal = self.identities | self.hidden
        named = [relation for relation in self.relations if relation not in internal]
        forwards = [relation for relation in named if not is_inverse(relation)]
        backwards = [base_relation(relation) for relation in named if is_inverse(relation)]
        return dict.fromkeys([*forwards, *(relation for relation in backwards if relation not in internal)])

    def inverse_of(self, relation: str) -> str | None:
        """The inverse relation, where the constraints have one."""
        inverse = inverse_name(relation)
        return inverse if inverse in self.relation_ids else None

    def source_of(self, relation: str) -> NDArray[np.int32]:
        """The partial function of one relation, the paper's sigma_r."""
        if relation not in self.relation_ids:
            raise UnknownNameError("relation", relation, self.relations)
        source: NDArray[np.int32] = self.sources[self.relation_ids[relation]]
        return source

    def matrix(self, relation: str) -> NDArray[np.int8]:
        """B_r as a 0/1 matrix."""
        matrix = np.zeros((self.num_slots, self.num_slots), dtype=np.int8)
        for source, slot in self.constrained_slots(relation):
            matrix[slot, source] = 1
        return matrix

    def composed(self, word: Sequence[str]) -> NDArray[np.int32]:
        """The partial function of a path r1;...;rp, whose matrix is B_rp ... B_r1."""
        source = np.arange(self.num_slots, dtype=np.int32)
        for relation in word:
            step = self.source_of(relation)
            source = np.where(step == UNCONSTRAINED, UNCONSTRAINED, source[step])
        return source

    def decisive_slots(self, relation: str) -> tuple[tuple[int, int], ...]:
        """The (start, exit) pairs that decide `relation`; none where it has no matrix, so that its facts decide."""
        if relation in self.roots:
            return self.roots[relation]
        if relation not in self.relation_ids and relation in self.answerable:
            return ()
        return self.constrained_slots(relation)

    def constrained_slots(self, relation: str) -> tuple[tuple[int, int], ...]:
        """Every (source, slot) of the relation: the ones of B_r."""
        source = self.source_of(relation)
        return tuple((int(source[slot]), int(slot)) for slot in np.flatnonzero(source != UNCONSTRAINED))

    def captures_rule(self, rule: Rule) -> bool:
        """Do the constraints of the body entail those of the head, whatever the entity embeddings are?

        For a path this is B_r ⪯ B_rp ... B_r1 with identities anywhere between, for an intersection
        B_r ⪯ max(B_r1, ..., B_rp) likewise: every one of B_r must be met. Where an inverse is known, each atom of
        the body also leads back, as each triple of the graph does.
        """
        is_path = isinstance(rule, PathRule)
        arrivals: dict[int, list[tuple[int, NDArray[np.int32]]]] = {}  # variable -> [(from which, sources)]
        for place, relation in enumerate(rule.body):
            start, end = (place, place + 1) if is_path else (0, 1)
            arrivals.setdefault(end, []).append((start, self.source_of(relation)))
            if (inverse := self.inverse_of(relation)) is not None:
                arrivals.setdefault(start, []).append((end, self.source_of(inverse)))
        last = len(rule.body) if is_path else 1
        return all(
            (0, start) in self._origins((last, slot), arrivals)
            for start, slot in self.constrained_slots(rule.head)
        )

    def _origins(
        self, place: tuple[int, int], arrivals: Mapping[int, Sequence[tuple[int, NDArray[np.int32]]]]
    ) -> set[tuple[int, int]]:
        """All (variable, slot) places whose value cannot exceed the value of the given place."""
        identities = [self.source_of(identity) for identity in self.identities]
        found, waiting = {place}, [place]
        while waiting:
            variable, slot = waiting.pop()
            steps = [*arrivals.get(variable, ()), *((variable, sources) for sources in identities)]
            for other, sources in steps:
                origin = (other, int(sources[slot]))
                if origin[1] != UNCONSTRAINED and origin not in found:
                    found.add(origin)
                    waiting.append(origin)
        return found

    # --- files --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the ones of every B_r, and the other fields as they are."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "num_slots": self.num_slots,
            "matrices": {relation: self.constrained_slots(relation) for relation in self.relations},
            "identities": sorted(self.identities),
            "hidden": sorted(self.hidden),
            "roots": {relation: list(pairs) for relation, pairs in self.roots.items()},
            "bound": self.bound,
            "rules": None if self.rules is None else str(self.rules.source or self.rules),
            **({} if self.rules is None else _read_of(self.rules.source or self.rules)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OrderingConstraints:
        """The constraints that `to_dict` gave as plain data; anything else raises `ValueError` or its like."""
        _check_schema(data)
        relations = tuple(data["matrices"])
        sources = np.full((len(relations), data["num_slots"]), UNCONSTRAINED, dtype=np.int32)
        for index, pairs in enumerate(data["matrices"].values()):
            for source, slot in pairs:
                sources[index, slot] = _checked(source, slot, data["num_slots"])
        if not {*data["identities"], *data["hidden"], *data["roots"]} <= {*relations} - {""}:
            raise ValueError("relations without a matrix, or without a name")
        return cls(
            relations,
            sources,
            frozenset(data["identities"]),
            frozenset(data["hidden"]),
            {
                relation: tuple((_checked(start, leave, data["num_slots"]), leave) for start, leave in pairs)
                for relation, pairs in data["roots"].items()
            },
            data["bound"],
            _rules_in(data),
        )

    def save(self, path: str | Path) -> None:
        """Write the constraints to a JSON file, whole or not at all."""
        with written_whole(path) as aside:
            aside.write_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The content of such a file."""
        data = self.to_dict()
        return json.dumps({**data, "digest": _digest(data)}, ensure_ascii=False).encode()

    @classmethod
    def load(cls, path: str | Path) -> OrderingConstraints:
        """Read a file that `save` wrote; any other file raises `InputError`."""
        place = Place(str(path))
        try:
            text = Source.at(path).read_text(most=_LARGEST, longest=_LARGEST)
            data = json.loads(text, object_pairs_hook=unique_keys)
            if data["format"] != FORMAT:
                raise KeyError("format")
            version = data["version"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"not a file of compiled constraints ({type(error).__name__})",
                place=place,
                hint="`reshuffle compile RULES -o FILE` writes one",
            ) from error
        if version != VERSION:
            raise InputError(
                f"constraints of version {version}; this reshuffle reads version {VERSION}",
                place=place,
                hint="compile the rules again",
            )
        try:
            if "digest" in data and data["digest"] != _digest(data):  # older files have none
                raise ValueError("its digest does not match")
            return cls.from_dict(data)
        except (KeyError, TypeError, ValueError, ReshuffleError) as error:
            raise InputError(
                f"compiled constraints, modified after they were written ({type(error).__name__}: {error})",
                place=place,
                hint="compile the rules again",
            ) from error


def _digest(data: Mapping[str, Any]) -> str:
    """The digest of all that a file says but the digest itself: other slots would give other answers without a word."""
    said = {name: value for name, value in data.items() if name != "digest"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _rules_in(data: Mapping[str, Any]) -> RuleBase | None:
    """The rules of a file: encoded, where they have constants, as they were when they were compiled."""
    if data["rules"] is None:
        return None
    if "classes" in data:
        raise ValueError("class axioms are kept as rules with constants now: compile the ontology again")
    unread = tuple(Unread(*(fields)) for fields in data.get("not_read", ()))
    stated = Counter[tuple[str, str, str]]() if data.get("ontology") else None
    return without_constants(replace(parse_rules(data["rules"]), unread=unread, stated=stated))


def _read_of(rules: RuleBase) -> dict[str, Any]:
    """Whether the rules are an ontology's, and what of their file was not read; both decide what is called exact."""
    unread = [list(astuple(one)) for one in rules.not_read]
    return {
        **({"not_read": unread} if unread else {}),
        **({} if rules.stated is None else {"ontology": True}),
    }


def _check_schema(data: Mapping[str, Any]) -> None:
    """Raise unless every value has its kind and the sizes are those of constraints that were written here.

    Nothing is made of the numbers before: a short file may name a size that fills the memory.
    """
    for name, kind in _SCHEMA.items():
        if type(data[name]) not in kind:
            raise ValueError(f"{name} is {str(data[name])[:_SHOWN]}")
    matrices, roots = data["matrices"], data["roots"]
    pairs = [pair for listed in (*matrices.values(), *roots.values()) for pair in listed]
    if not all(type(pair) is list and len(pair) == 2 and {*map(type, pair)} == {int} for pair in pairs):
        raise ValueError("slots are not pairs of whole numbers")
    slots, bound = data["num_slots"], data["bound"]
    if not 0 <= slots <= max(_MANY_SLOTS, 2 * len(pairs) + 1) or slots * len(matrices) > _MOST_ENTRIES:
        raise ValueError(f"{slots} slots for {len(matrices)} relations")
    if bound is not None and bound < 0:
        raise ValueError(f"a bound of {bound}")


def _checked(source: int, slot: int, num_slots: int) -> int:
    """The source, if it and the slot exist; NumPy would take a negative number for a slot from the end."""
    for place in (source, slot):
        if not 0 <= place < num_slots:
            raise ValueError(f"slot {place} of {num_slots}")
    return source
