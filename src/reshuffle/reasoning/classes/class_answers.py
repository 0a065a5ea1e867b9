"""Answers about the classes of an ontology: which is a subclass of which, and which has which existential edges.

`C p D` holds where `C SubClassOf p some D` is entailed, for named classes C and D; the relation `is_a` (in OWL
`rdfs:subClassOf`) leads to the classes above. Neither a class itself nor owl:Thing is an answer. A class that can have
no members is below all others; its one edge leads to owl:Nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.io.tables import SCHEMA, rows_of
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.classes.class_names import ShortNames
from reshuffle.reasoning.classes.class_proofs import ClassProofs
from reshuffle.reasoning.classes.edge_reduction import reduced_edges
from reshuffle.reasoning.classes.normal_forms import BOTTOM, NOT_USED, TOP, named_classes, normal_forms
from reshuffle.reasoning.classes.saturation import saturated
from reshuffle.reasoning.classes.saturation_kernels import LAST_FORWARD, NEXT, RELATION, A, B
from reshuffle.reasoning.sharing import Shared
from reshuffle.rules.exactness import Way
from reshuffle.rules.ontologies.axioms import NOTHING, THING
from reshuffle.rules.rule import RuleBase, Unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules.exactness import Exactness
    from reshuffle.rules.ontologies.axioms import Ontology

    Ints = NDArray[np.int32]

CLASSIFIED = Way("exact, by classification in OWL 2 EL", "from what was read, by classification in OWL 2 EL")


class ClassAnswers(Answers):
    """What follows between the classes of an ontology. Names are short: CURIEs where prefixes are known.

    Full names and labels that only one class has are understood as well.
    """

    def __init__(
        self, ontology: Ontology, *, short: bool = True, reduced: bool = False, progress: Progress = SILENT
    ) -> None:
        self._ontology, self._reduced = ontology, reduced
        classes = named_classes(ontology.axioms, ontology.classes)
        used = (*classes, *sorted(ontology.properties))
        self.names = ShortNames(
            (THING, NOTHING, ontology.is_a, *used), ontology.prefixes, ontology.labels, short=short
        )
        forms = normal_forms(ontology.axioms, sorted(classes, key=self.names.__getitem__), file=ontology.file)
        self.names.add(forms.relations)
        self._saturated = saturated(forms, progress=progress)
        self.is_a = self.names[ontology.is_a]
        # Relations by name, in the order of their names; the last number is that of subclasses.
        self._relations = [*(self.names[name] for name in forms.relations), self.is_a]
        self._relation_ids = {name: number for number, name in enumerate(self._relations)}
        self._progress, self.shared = progress, Shared()
        unread = (*(one for one in ontology.unread if one.noun), *forms.unread)
        self._read = RuleBase((), unread=unread)

    @property
    def way(self) -> Way:
        """Completion, which is exact for OWL 2 EL."""
        return CLASSIFIED

    @property
    def read_rules(self) -> RuleBase:
        """No rules, but what was not read."""
        return self._read

    @property
    def facts(self) -> KnowledgeGraph:
        """None: an ontology has axioms."""
        return KnowledgeGraph([])

    @property
    def empty_classes(self) -> list[str]:
        """The classes that can have no members."""
        return [self._class(number) for number in self._saturated.empty.tolist()]

    @property
    def is_consistent(self) -> bool:
        """Can there be anything? Classes that can have no members are no contradiction, unless owl:Thing is one."""
        return not self._saturated.is_empty(TOP)

    @property
    def claim_of_consistency(self) -> Exactness:
        """How exact `is_consistent` is: what the ontology says of individuals is not looked at."""
        said = self._ontology.facts
        if not said:
            return self.claim
        unread = Unread("assertions", len(said), " ".join(said[0]), "assertion", NOT_USED)
        return replace(self.claim, not_read=(*self.claim.not_read, unread))

    @property
    def num_classes(self) -> int:
        """How many named classes there are, without owl:Thing and owl:Nothing."""
        return self._saturated.forms.num_named - 2

    @property
    def num_axioms(self) -> int:
        """How many axioms were read, used or not."""
        return len(self._ontology.axioms)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that edges may have."""
        return tuple(sorted(name for name in self._relations if not name.startswith("~")))

    def __repr__(self) -> str:
        return f"<answers between {self.num_classes:,} classes: {self.exactness}>"

    # --- questions ----------------------------------------------------------------------------------

    def full_name(self, typed: str) -> str:
        """The short name that somebody means, who typed it, a full name, or a label."""
        found = self.names.full(typed)
        return typed if found is None else self.names[found]

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the edge follow?"""
        a, number, b = self._class_id(head), self._relation_id(relation), self._class_id(tail)
        if b == TOP or a == b == BOTTOM:
            return number == len(self._relations) - 1
        if self._saturated.is_empty(a):
            return True
        if number == len(self._relations) - 1:
            return self._saturated.sub(a, b) >= 0
        return self._link(a, number, b) is not None

    def _link(self, a: int, relation: int, b: int) -> int | None:
        """The first link from which an edge follows."""
        facts = self._saturated.facts
        found = []
        link = int(facts.classes[LAST_FORWARD, a])
        while link >= 0:
            if relation in self._saturated.above[int(facts.links[RELATION, link])] and (
                self._saturated.sub(int(facts.links[B, link]), b) >= 0
            ):
                found.append(link)
            link = int(facts.links[NEXT, link])
        return min(found, default=None)

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """The classes to which the relation leads from one."""
        a, number = self._class_id(head), self._relation_id(relation)
        for _, relations, tails in self._saturated.edges(np.array([a], np.int32)):
            yield from map(self._class, tails[relations == number].tolist())

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """The classes from which the relation leads to one."""
        number, b = self._relation_id(relation), self._class_id(tail)
        is_a = number == len(self._relations) - 1
        found = self._below(b) if is_a else self._leading_to(number, b)
        yield from (
            self._class(a) for a in found.tolist() if a not in (TOP, BOTTOM) and not (is_a and a == b)
        )

    def _below(self, b: int) -> Ints:
        """The named classes below one, those without members only below owl:Nothing."""
        facts, count = self._saturated.facts, self._saturated.num_subs
        found = facts.subs[A, :count][facts.subs[B, :count] == b]
        found = found[found < self._saturated.forms.num_named]
        return found if b == BOTTOM else np.setdiff1d(found, self._saturated.empty)

    def _leading_to(self, relation: int, b: int) -> Ints:
        facts, saturated = self._saturated.facts, self._saturated
        subs, links = saturated.num_subs, saturated.num_links
        below = np.zeros(len(saturated.forms.meanings), bool)
        below[facts.subs[A, :subs][facts.subs[B, :subs] == b]] = True
        counts = np.array([relation in sups for sups in saturated.above], bool)
        chosen = below[facts.links[B, :links]] & counts[facts.links[RELATION, :links]]
        found = np.unique(facts.links[A, :links][chosen])
        return np.setdiff1d(found[found < saturated.forms.num_named], saturated.empty)

    # --- all edges ----------------------------------------------------------------------------------

    def _edges(self) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Blocks of edges by number, sorted by the names of class, relation and class."""
        order = np.argsort(np.array(self._relations, dtype=object)).argsort().astype(np.int32)
        blocks = reduced_edges(self._saturated) if self._reduced else self._saturated.edges()
        for heads, relations, tails in blocks:
            by_name = np.lexsort(
                (tails, order[relations], heads)
            )  # classes are numbered by name, but for the first two
            yield heads[by_name], relations[by_name], tails[by_name]

    def sorted_batches(self) -> Iterator[pa.RecordBatch]:
        """All edges by the names of class, relation and class, as Arrow blocks."""
        forms = self._saturated.forms
        classes = pa.array([self._class(number) for number in range(forms.num_named)], pa.string())
        relations = pa.array(self._relations, pa.string())
        for heads, names, tails in self._edges():
            columns = (classes.take(heads), relations.take(names), classes.take(tails))
            yield pa.RecordBatch.from_arrays(
                [column.cast(field.type) for column, field in zip(columns, SCHEMA, strict=True)],
                schema=SCHEMA,
            )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The same: they come in order."""
        return self.sorted_batches()

    def sorted_triples(self) -> Iterator[Triple]:
        """All edges in order."""
        for batch in self.sorted_batches():
            yield from (Triple(*row) for row in rows_of(batch))

    def triples(self) -> Iterator[Triple]:
        """All edges."""
        return self.sorted_triples()

    def counts(self) -> dict[str, Count]:
        """How many edges each relation has."""
        found = np.zeros(len(self._relations), np.int64)
        for _, relations, _ in self._edges():
            found += np.bincount(relations, minlength=len(found))
        return {
            name: Count(int(count), int(count))
            for name, count in zip(self._relations, found, strict=True)
            if count
        }

    # --- proofs -------------------------------------------------------------------------------------

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Why an edge follows; one proof, however many there may be."""
        del most
        a, number, b = self._class_id(head), self._relation_id(relation), self._class_id(tail)
        if not self.holds(head, relation, tail):
            return []
        made = ClassProofs(self._saturated, self.names, self.is_a)
        if self._saturated.is_empty(a) and number != len(self._relations) - 1:
            return [made.of_sub(a, BOTTOM)]
        if number == len(self._relations) - 1:
            return [made.of_sub(a, b) if self._saturated.sub(a, b) >= 0 else made.of_sub(a, BOTTOM)]
        link = self._link(a, number, b)
        assert link is not None
        return [made.of_edge(number, link, b)]

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """None: which axiom is missing is nothing that edges tell."""
        del head, relation, tail, most, progress
        return []

    def violations(self) -> Iterator[Violation]:
        """None: classes without members break no constraint; `empty_classes` has them."""
        return iter(())

    # --- what ontologies cannot ---------------------------------------------------------------------

    @property
    def deduction(self) -> Deduction:
        """Refused: DuckDB and Spark derive from facts."""
        raise InputError(
            "an ontology without individuals is classified in memory", hint="leave out the engine"
        )

    def add(self, triples: Iterable[tuple[str, str, str]]) -> NoReturn:
        """Refused: axioms are no facts."""
        del triples
        raise _needs_reloading()

    def remove(self, triples: Iterable[tuple[str, str, str]]) -> NoReturn:
        """Refused: axioms are no facts."""
        del triples
        raise _needs_reloading()

    # --- names --------------------------------------------------------------------------------------

    def _class(self, number: int) -> str:
        meaning = self._saturated.forms.meanings[number]
        assert isinstance(meaning, str)
        return self.names[meaning]

    def _class_id(self, typed: str) -> int:
        name = self.names.full(typed)
        number = None if name is None else self._saturated.forms.ids.get(name)
        if number is None:
            ids = self._saturated.forms.ids
            raise UnknownNameError(
                "class", typed, [one for one in self.names.shown if self.names.full(one) in ids]
            )
        return number

    def _relation_id(self, typed: str) -> int:
        name = self.names.full(typed)
        number = self._relation_ids.get(typed if name is None else self.names[name])
        if number is None:
            raise UnknownNameError("relation", typed, self.relations)
        return number


def _needs_reloading() -> InputError:
    return InputError(
        "axioms between classes cannot be added or taken back one by one",
        hint="change the ontology's file, and load it again",
    )
