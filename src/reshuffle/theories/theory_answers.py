"""The answers of a theory over a graph: derived triples, ranked links, and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from reshuffle.evaluation.scorer import KnowsRelations, KnowsTypes, Scorer
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.answers import DerivedTriples
from reshuffle.reasoning.sharing import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from reshuffle.evaluation.baselines.types import TypeBaseline
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers
    from reshuffle.reasoning.answers import Count
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.theories.theory import Reasoning, Theory


class Ranked(Scorer, KnowsRelations, KnowsTypes, Protocol):
    """What scores questions about a graph: a rule list or a network on it."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that can be asked about."""
        ...

    @property
    def predict(self) -> Callable[..., Any]:
        """Gives the best new answers to a question."""
        ...

    @property
    def missing(self) -> Callable[..., Any]:
        """Gives the most plausible links that are no facts."""
        ...

    @property
    def explain(self) -> Callable[..., Any]:
        """Gives what the score of a triple is made of."""
        ...

    @property
    def add(self) -> Callable[..., None]:
        """Adds facts."""
        ...

    @property
    def remove(self) -> Callable[..., None]:
        """Takes facts back."""
        ...


class TheoryAnswers(DerivedTriples):
    """Answers over one graph; as a collection, the derived triples that are not facts.

    `holds`, `tails`, `heads`, `triples`, `counts`, `proofs`, `why_not`, `violations` and `write` are about what
    follows with certainty. `scores`, `predict` and `missing` are about what is plausible; a theory that cannot score
    raises an error that says so. `explain` gives a proof, or of a theory that ranks the parts of a score.

    What follows and what is plausible are two computations over the same facts. Each begins when it is first needed,
    and `add` and `remove` change both.
    """

    def __init__(
        self,
        theory: Theory,
        graph: KnowledgeGraph,
        *,
        how: Reasoning,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> None:
        self.theory = theory
        self._how, self._progress, self._notes = how, progress, notes
        self._graph: KnowledgeGraph | None = graph
        self._entailed: Answers | None = None
        self._ranked: Ranked | None = None
        self._changing = Turns()

    def __repr__(self) -> str:
        return f"<TheoryAnswers: {self.theory.kind} on {self.facts!r}>"

    # --- the two parts --------------------------------------------------------------------------------------

    @property
    def entailed(self) -> Answers:
        """What follows with certainty."""
        with self._changing:
            if self._entailed is None:
                self._entailed = self.theory.entailed(
                    self.facts, self._how, progress=self._progress, notes=self._notes
                )
            return self._entailed

    @property
    def ranked(self) -> Ranked:
        """What scores."""
        with self._changing:
            if self._ranked is None:
                self._ranked = self.theory.ranker(self.facts, notes=self._notes)
            return self._ranked

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""
        with self._changing:
            if self._graph is None:
                self._graph = self._ranked.graph if self._entailed is None else self._entailed.facts  # type: ignore[union-attr]
            return self._graph

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph that scores are about; behind the relations of its facts it names all others that are known."""
        return self.ranked.graph

    # --- what follows ---------------------------------------------------------------------------------------

    @property
    def exactness(self) -> str:
        """What the certain answers are."""
        return self.entailed.exactness

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        return self.entailed.holds(head, relation, tail)

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        return self.entailed.tails(head, relation)

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        return self.entailed.heads(relation, tail)

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, streamed."""
        return self.entailed.triples()

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples by head, relation and tail."""
        return self.entailed.sorted_triples()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The derived triples as Arrow blocks of names."""
        return self.entailed.batches()

    def sorted_batches(self) -> Iterator[pa.RecordBatch]:
        """The same by head, relation and tail."""
        return self.entailed.sorted_batches()

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold."""
        return self.entailed.counts()

    def write(self, path: str | PathLike[str], **options: Any) -> int:
        """Write the derived triples; see `Answers.write`."""
        return self.entailed.write(path, **options)

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations."""
        return self.entailed.proofs(head, relation, tail, most=most)

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The rules that come nearest to a triple that does not follow."""
        return self.entailed.why_not(head, relation, tail, most=most, progress=progress)

    def violations(self) -> Iterator[Violation]:
        """What breaks a constraint of the rules, with proofs."""
        return self.entailed.violations()

    # --- what is plausible ----------------------------------------------------------------------------------

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that can be asked about."""
        return self.theory.relations

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of `graph`: can it be asked about?"""
        return self.ranked.learned_relations

    @property
    def type_baseline(self) -> TypeBaseline:
        """The type baseline of the training facts."""
        return self.ranked.type_baseline

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """The scores of candidates, by the ids of `graph`; see `Scorer.scores`."""
        return self.ranked.scores(anchors, relations, side=side, candidates=candidates)

    def predict(self, **question: Any) -> Any:
        """The best new answers to a question: `relation` and `head` or `tail`, `top`, `known`."""
        return self.ranked.predict(**question)

    def missing(self, **options: Any) -> Any:
        """The most plausible links that are no facts: of one `relation` or all, the `top` ones."""
        return self.ranked.missing(**options)

    # --- why ------------------------------------------------------------------------------------------------

    def explain(self, head: str, relation: str, tail: str, **options: Any) -> Any:
        """A proof, or an object that is false and says why not; of a theory that ranks, the parts of the score."""
        if self.theory.ranks:
            return self.ranked.explain(head, relation, tail, **options)
        return self.entailed.explain(head, relation, tail, **options)

    # --- updates --------------------------------------------------------------------------------------------

    def add(self, triples: Triples) -> None:
        """Add facts, also with new entities."""
        self._change("add", triples)

    def remove(self, triples: Triples) -> None:
        """Take facts back; what followed only from them no longer holds."""
        self._change("remove", triples)

    def _change(self, how: str, triples: Triples) -> None:
        with self._changing:
            if self._entailed is None and self._ranked is None:
                _ = self.entailed  # which checks names, and changes in place
            for part in (self._entailed, self._ranked):
                if part is not None:
                    getattr(part, how)(triples)
            self._graph = None
