"""Questions about a graph, by name and by id: the given entity, the relation, and the end that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

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
    """The given entity, by id; `side` is the end that is asked for."""

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
    check_side(side)
    head, relation, tail = triple
    if side == "tail":
        return question_of(graph, relations, relation, head=head), graph.entities.id(tail)
    return question_of(graph, relations, relation, tail=tail), graph.entities.id(head)


def asked_about(triple: tuple[str, str, str], side: Side) -> str:
    """The question that a triple answers, as it is written.

    >>> asked_about(("ada", "speaks", "english"), "head")
    '(?, speaks, english)'
    """
    head, relation, tail = triple
    return f"({head}, {relation}, ?)" if side == "tail" else f"(?, {relation}, {tail})"


def other_side(side: Side) -> Side:
    """The end that is given where this one is asked for."""
    return "head" if side == "tail" else "tail"


def told_scores(triple: tuple[str, str, str], side: Side, scores: dict[Side, float]) -> str:
    """The score of a triple with the question that it answers, and that for the other question where it differs.

    >>> told_scores(("ada", "speaks", "english"), "tail", {"tail": 5.93, "head": 5.837})
    'score 5.930 as an answer to (ada, speaks, ?), 5.837 to (?, speaks, english)'
    """
    printed = {end: f"{score:.3f}" for end, score in scores.items()}
    if len(set(printed.values())) == 1:
        return f"score {printed[side]}"
    other = other_side(side)
    answers = f"score {printed[side]} as an answer to {asked_about(triple, side)}"
    return f"{answers}, {printed[other]} to {asked_about(triple, other)}"


class _Ranked(Protocol):
    """An answer with the end that was asked for."""

    @property
    def triple(self) -> Triple: ...

    @property
    def side(self) -> Side: ...


def told_question(ranked: Sequence[_Ranked], *, several: bool) -> list[str]:
    """A line that says which question the scores of answers are about; none where there are no answers."""
    asked = dict.fromkeys(
        asked_about(("head", "relation", "tail") if several else row.triple, row.side) for row in ranked
    )
    return [f"scores as answers to {' and '.join(asked)}"] if asked else []


def check_side(side: str) -> None:
    """Refuse what is no end of a triple."""
    if side not in ("head", "tail"):
        raise InputError(
            f"side = {side!r}",
            hint="'tail' asks for the tails of (head, relation, ?), 'head' for the heads of (?, relation, tail)",
        )


def learned_relation(graph: KnowledgeGraph, relations: Sequence[str], relation: str) -> int:
    """The id of a relation that the model knows; the graph need not have a fact of it."""
    if relation in relations:
        return graph.relations.id(relation)
    if relation not in graph.relations:
        raise UnknownNameError("relation", relation, relations)
    raise InputError(
        f"the model does not know the relation '{relation}'{did_you_mean(relation, relations)}",
        hint="use a relation of the training facts, or train again with facts of this one",
    )


def check_about_one(*, head: str | None, tail: str | None, known: str) -> None:
    """Refuse a question about all relations of no entity, or one that would have facts marked."""
    if head is None and tail is None:
        raise InputError("found no end of the question", hint="give head=... or tail=..., or ask missing()")
    if known != "exclude":
        raise InputError(
            "known facts can be marked for one relation only", hint="give a relation, or leave out known"
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


def check_wanted(top: int | None, per_relation: int | None, least: float | None) -> None:
    """Refuse numbers of links below one, and a least probability that is none or leaves nothing."""
    for number in (top, per_relation):
        if number is not None:
            check_top(number)
    if least is not None and not 0 <= least < 1:
        raise InputError(f"found the least probability {least}", hint="give a number from 0 to below 1")


def check_known(known: str) -> None:
    """Refuse what says neither to leave facts out nor to mark them."""
    if known not in ("exclude", "mark"):
        raise InputError(f"known = {known!r}", hint="'exclude' leaves known triples out, 'mark' marks them")
