"""Questions about a graph, by name and by id: who is asked about, over which relation, and for which end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reshuffle.errors import InputError, UnknownNameError, did_you_mean, whole_number
from reshuffle.kg import Triple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph

Known = Literal["exclude", "mark"]
"""Are answers that are facts left out, or marked?"""


@dataclass(frozen=True)
class Question:
    """Who is asked about, by id; `side` is the end that is asked for."""

    anchor: int
    relation: int
    side: Side

    def known(self, graph: KnowledgeGraph) -> NDArray[np.bool_]:  # entity
        """Which answers are facts."""
        mask = np.zeros(graph.num_entities, dtype=np.bool_)
        mask[_tails(graph, self) if self.side == "tail" else graph.by_tail.of(self.anchor, self.relation)] = (
            True
        )
        return mask

    def excludes_itself(self, graph: KnowledgeGraph) -> bool:
        """Is (h, r, h) no answer? It is one only where the graph has a fact of that form of the relation."""
        own = graph.relation_ids == self.relation
        return not bool((graph.heads[own] == graph.tails[own]).any())

    def ends(self, answer: int) -> tuple[int, int]:
        """Head and tail of the triple that an answer makes."""
        return (self.anchor, answer) if self.side == "tail" else (answer, self.anchor)

    def triple(self, graph: KnowledgeGraph, answer: int) -> Triple:
        """The triple that an answer makes, by name."""
        head, tail = self.ends(answer)
        return Triple(graph.entities[head], graph.relations[self.relation], graph.entities[tail])


def _tails(graph: KnowledgeGraph, question: Question) -> NDArray[np.int32]:
    """The tails of the facts of an anchor: one slice, as facts are sorted by (relation, head, tail)."""
    # As `int32`: numbers of another type would have the whole column converted first.
    start, end = graph.relation_ids.searchsorted(
        np.array([question.relation, question.relation + 1], np.int32)
    )
    first, last = graph.heads[start:end].searchsorted(
        np.array([question.anchor, question.anchor + 1], np.int32)
    )
    return graph.tails[start + first : start + last]


def question_of(
    graph: KnowledgeGraph,
    relations: Sequence[str],
    relation: str,
    *,
    head: str | None = None,
    tail: str | None = None,
) -> Question:
    """A question by name, about a relation that the model knows; exactly one end must be given."""
    if (head is None) == (tail is None):
        raise InputError(
            "found both ends of the question" if head is not None else "found no end of the question",
            hint="give head=... to ask for tails, or tail=... to ask for heads",
        )
    number = learned_relation(graph, relations, relation)
    if head is not None:
        return Question(graph.entities.id(head), number, "tail")
    return Question(graph.entities.id(str(tail)), number, "head")


def question_about(
    graph: KnowledgeGraph, relations: Sequence[str], triple: Triple, side: Side
) -> tuple[Question, int]:
    """The question that a triple answers, and the answer."""
    head, relation, tail = triple
    if side == "tail":
        return question_of(graph, relations, relation, head=head), graph.entities.id(tail)
    return question_of(graph, relations, relation, tail=tail), graph.entities.id(head)


def learned_relation(graph: KnowledgeGraph, relations: Sequence[str], relation: str) -> int:
    """The id of a relation that the model knows; the graph need not have a fact of it."""
    if relation in relations:
        return graph.relations.id(relation)
    if relation not in graph.relations:
        raise UnknownNameError("relation", relation, relations)
    raise InputError(
        f"the model has not learned the relation '{relation}'{did_you_mean(relation, relations)}",
        hint="ask for a relation of the training facts, or train again with facts of this one",
    )


def check_about_one(*, head: str | None, tail: str | None, known: str) -> None:
    """Refuse a question about all relations of no entity, or one that would have facts marked."""
    if head is None and tail is None:
        raise InputError("found no end of the question", hint="give head=... or tail=..., or ask missing()")
    if known != "exclude":
        raise InputError(
            "facts of all relations cannot be marked", hint="give a relation, or leave out known"
        )


def anchor_of(graph: KnowledgeGraph, *, head: str | None, tail: str | None) -> tuple[int | None, Side]:
    """The entity whose links are asked for, None for everyone, and the end that is asked for."""
    if head is not None and tail is not None:
        raise InputError("found both ends of a link", hint="give the head, the tail, or neither")
    given = head if tail is None else tail
    return None if given is None else graph.entities.id(given), "tail" if tail is None else "head"


def check_top(top: int) -> None:
    """Refuse what is no whole number, or less than one."""
    if whole_number("top", top, hint="give 1 or more") < 1:
        raise InputError(f"top = {top} asks for no prediction", hint="give 1 or more")


def check_known(known: str) -> None:
    """Refuse what says neither to leave facts out nor to mark them."""
    if known not in ("exclude", "mark"):
        raise InputError(f"known = {known!r}", hint="'exclude' leaves known triples out, 'mark' marks them")
