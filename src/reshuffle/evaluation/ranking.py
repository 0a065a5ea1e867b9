"""`evaluate`: rank queries with a scorer and make a report. Models, reasoners and baselines all use this."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.evaluation.negatives import ABSENT, Negatives, Origin, draw_negatives
from reshuffle.evaluation.protocols import protocol_of
from reshuffle.evaluation.queries import answerable, known_answers, same_ids
from reshuffle.evaluation.ranks import Ranks, refuse_nan
from reshuffle.evaluation.reliability import Reliability
from reshuffle.evaluation.report import Ranked, Report
from reshuffle.evaluation.scorer import SIDES, KnowsTypes, SaysHowLikely
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark
from reshuffle.progress import SILENT
from reshuffle.work_shares import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.evaluation.baselines.rules import RuleBaseline
    from reshuffle.evaluation.protocols import RankingProtocol
    from reshuffle.evaluation.queries import Known, KnownAnswers, Queries, UnknownPolicy
    from reshuffle.evaluation.scorer import Scorer, Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Progress
    from reshuffle.work_shares import Shares

    Stated = tuple[NDArray[np.float64], NDArray[np.float64]]

_TO_ASK = {GraphSplit: "queries", InductiveBenchmark: "test.queries", TransductiveBenchmark: "queries"}
_SCORES_AT_ONCE = 1 << 18  # a megabyte, so that a scorer's own temporaries stay small too


def evaluate(  # noqa: PLR0913 - each has a default, and all are keywords
    scorer: Scorer,
    queries: Triples,
    *,
    protocol: str | RankingProtocol = "sampled-50",
    known: Known = None,
    seed: int = 0,
    baseline: bool | TypeBaseline = True,
    rules: RuleBaseline | None = None,
    negatives: Negatives | str | PathLike[str] | None = None,
    unknown: UnknownPolicy = "refuse",
    progress: Progress = SILENT,
    shares: Shares = WHOLE,
) -> Report:
    """Rank the true answer of every query, for its head and for its tail.

    `known` says which triples are true and so must not be ranked as wrong: a graph, several, or a benchmark's
    split (`bench.test`), of which the protocol takes its parts; by default the scorer's facts and the queries. Graphs
    are taken as they are: list the queries among them, too.
    `baseline`: the type baseline fitted on the training facts. True takes the one that the scorer brings
    (`type_baseline`), or fits one on the scorer's own facts. `rules`: mined rules to stand beside it, too, such as
    `RuleBaseline.fit(bench.train.facts)`. `negatives`: candidates, or a file of them, drawn before for the same
    protocol, in place of drawing them by `seed`; the report has the seed that they were drawn by. `unknown`:
    "refuse" queries about names that the scorer does not know, "skip" them, or "isolate": treat missing
    entities as entities without facts. Queries that are facts of the scorer's graph are ranked with themselves in
    it, and the report counts them. `shares`: of several processes each ranks its own, and all get the report.

    >>> from reshuffle.evaluation import RuleBaseline
    >>> from reshuffle.kg import KnowledgeGraph
    >>> from reshuffle.rules import PathRule, Quality, RuleBase
    >>> facts = KnowledgeGraph([("ada", "bornIn", "uk"), ("bob", "bornIn", "italy"), ("eve", "livesIn", "italy")])
    >>> rules = RuleBase((PathRule(("bornIn",), "livesIn", Quality(10, 8, 0.8)),))
    >>> report = evaluate(RuleBaseline(rules).on(facts), [("ada", "livesIn", "uk")], protocol="full")
    >>> report["mrr"], report["hits@1"], report.baseline.metrics["hits@1"]
    (1.0, 1.0, 0.0)
    """
    started = time.perf_counter()
    _check_scorer(scorer)
    chosen = protocol_of(protocol)
    asked = answerable(scorer, as_graph(queries, parts=_TO_ASK), unknown)
    truths = known_answers(known, chosen.filters, asked.scorer.graph, asked.queries)
    candidates = _candidates(asked.scorer, asked.queries, truths, chosen, seed=seed, given=negatives)

    def ranked(name: str, one: Scorer, stated: list[Stated] | None = None) -> Ranked:
        return Ranked(name, chosen, _ranks(one, asked.queries, truths, candidates, progress, shares, stated))

    says = isinstance(asked.scorer, SaysHowLikely) and candidates is None
    stated: list[Stated] | None = [] if says else None
    result = ranked(_name_of(scorer), asked.scorer, stated)
    beside = _type_baseline(asked.scorer, baseline)
    compared = None if beside is None else ranked("type baseline", beside.on(asked.scorer.graph))
    mined = None if rules is None else ranked("mined rules", rules.on(asked.scorer.graph))
    return Report(
        result,
        compared,
        seed=_seed_of(candidates, seed),
        seconds=time.perf_counter() - started,
        negatives=candidates,
        skipped=asked.skipped,
        queries_among_facts=len(asked.queries.as_graph(asked.scorer.graph) & asked.scorer.graph),
        rules=mined,
        relations=tuple(asked.scorer.graph.relations[asked.queries.relations]),
        reliability=None if not stated else _reliability(stated, shares),
        queries_not_known=_num_not_known(known, chosen, asked.queries.as_graph(asked.scorer.graph), truths),
    )


def _reliability(stated: list[Stated], shares: Shares) -> Reliability | None:
    """Of the questions of all processes."""
    columns = [np.concatenate(column) for column in zip(*stated, strict=True)]
    probabilities, true = (shares.joined(column) for column in columns)
    return Reliability.of([(probabilities, true.astype(np.bool_))])


def _num_not_known(
    known: Known, protocol: RankingProtocol, queries: KnowledgeGraph, truths: KnownAnswers
) -> int:
    """How many queries are not filtered although the protocol would: a caller who lists graphs may forget them."""
    if known is None or isinstance(known, GraphSplit) or "queries" not in protocol.filters:
        return 0
    return len(queries - truths.graph)


def _check_scorer(scorer: object) -> None:
    """Refuse what has no scores: a model or rules without a graph, or answers that are yes or no."""
    if not hasattr(scorer, "scores"):
        raise InputError(
            f"{type(scorer).__name__} has no scores for ranking",
            hint="put a model on a graph first, model.on(facts); rules rank by their confidences as "
            "reshuffle.evaluation.RuleBaseline(rules).on(facts)",
        )


def _name_of(scorer: Scorer) -> str:
    return str(getattr(scorer, "name", type(scorer).__name__))


def _candidates(
    scorer: Scorer,
    queries: Queries,
    known: KnownAnswers,
    protocol: RankingProtocol,
    *,
    seed: int,
    given: Negatives | str | PathLike[str] | None,
) -> Negatives | None:
    if protocol.sampling is None:
        if given is not None:
            raise InputError(
                f"the protocol '{protocol.name}' ranks all entities, and negatives were given",
                hint="leave them out, or choose a protocol that samples",
            )
        return None
    if given is None:
        drawn = draw_negatives(scorer.graph, queries, known, protocol.sampling, seed=seed)
        return replace(drawn, origin=Origin(protocol.name, seed))
    if not isinstance(given, Negatives):  # read only now, since entities may have been added to the graph
        given = Negatives.read(given, scorer.graph)
    if given.origin is not None and given.origin.protocol != protocol.name:
        raise _other_protocol(given.origin.protocol, protocol.name)
    if not same_ids(given.graph, scorer.graph, relations=np.unique(given.queries.relations)):
        raise InputError(
            "the negatives were drawn on a graph with other entities or relations than the graph of the scorer",
            hint="read them with Negatives.read(path, scorer.graph)",
        )
    return given.of(queries)


def _other_protocol(drawn_for: str, wanted: str) -> InputError:
    return InputError(
        f"the negatives were drawn for the protocol '{drawn_for}', and the one to evaluate by is '{wanted}'",
        hint=f'protocol="{drawn_for}" (--protocol {drawn_for}) ranks against them; leave them out to draw new ones',
    )


def _seed_of(candidates: Negatives | None, seed: int) -> int | None:
    """The seed that the candidates were drawn by; None where they come from a file that does not say."""
    if candidates is None:
        return seed
    return None if candidates.origin is None else candidates.origin.seed


def _ranks(
    scorer: Scorer,
    queries: Queries,
    known: KnownAnswers,
    candidates: Negatives | None,
    progress: Progress,
    shares: Shares,
    stated: list[Stated] | None,
) -> dict[Side, Ranks]:
    rows = shares.rows(len(queries))
    if candidates is None:
        own = full_ranks(scorer, queries[rows], known, progress=progress, stated=stated)
    else:
        own = sampled_ranks(scorer, candidates[rows], progress=progress)
    return {side: _together(ranks, shares) for side, ranks in own.items()}


def _together(own: Ranks, shares: Shares) -> Ranks:
    """The ranks that all processes have found."""
    return Ranks(*(shares.joined(column) for column in (own.optimistic, own.pessimistic, own.negatives)))


def _type_baseline(scorer: Scorer, wanted: bool | TypeBaseline) -> TypeBaseline | None:
    if isinstance(wanted, TypeBaseline):
        return wanted
    if not wanted:
        return None
    return scorer.type_baseline if isinstance(scorer, KnowsTypes) else TypeBaseline.fit(scorer.graph)


def sampled_ranks(scorer: Scorer, negatives: Negatives, *, progress: Progress) -> dict[Side, Ranks]:
    """The ranks of the true answers among their sampled candidates, by side."""
    size = 1 + max(negatives.candidates[side].shape[1] for side in SIDES)
    with progress("ranking", total=2 * len(negatives.queries), unit="queries") as report:
        return {
            side: Ranks.joined(
                [
                    _among(scorer, negatives.queries[rows], negatives.candidates[side][rows], side)
                    for rows in _batches(len(negatives.queries), size, report)
                ]
            )
            for side in SIDES
        }


def full_ranks(
    scorer: Scorer,
    queries: Queries,
    known: KnownAnswers,
    *,
    progress: Progress,
    stated: list[Stated] | None = None,
) -> dict[Side, Ranks]:
    """The ranks of the true answers among all entities that are no known answers, by side.

    `stated` takes up how likely first answers are said to be, and whether they are true.
    """
    width = scorer.graph.num_entities
    with progress("ranking", total=2 * len(queries), unit="queries") as report:
        return {
            side: Ranks.joined(
                [
                    _among_all(scorer, queries[rows], known, side, stated)
                    for rows in _batches(len(queries), width, report)
                ]
            )
            for side in SIDES
        }


def _batches(count: int, width: int, report: Callable[[int], None]) -> Iterator[slice]:
    step = max(1, _SCORES_AT_ONCE // width)
    for start in range(0, count, step):
        yield slice(start, start + step)
        report(min(step, count - start))


def _among(scorer: Scorer, queries: Queries, wrong: NDArray[np.int32], side: Side) -> Ranks:
    true = queries.answers(side)[:, None]
    present = wrong != ABSENT
    # True and wrong answers are scored in one call, since scores of two calls need not be comparable.
    candidates = np.concatenate([true, np.where(present, wrong, true)], axis=1)
    scores = scorer.scores(queries.anchors(side), queries.relations, side=side, candidates=candidates)
    return Ranks.from_scores(scores[:, 0], scores[:, 1:], present)


def _among_all(
    scorer: Scorer, queries: Queries, known: KnownAnswers, side: Side, stated: list[Stated] | None
) -> Ranks:
    anchors, relations, answers = queries.anchors(side), queries.relations, queries.answers(side)
    scores = scorer.scores(anchors, relations, side=side, candidates=None)
    refuse_nan(scores)
    true = scores[np.arange(len(queries)), answers]
    above = (scores > true[:, None]).sum(axis=1)
    tied = (scores == true[:, None]).sum(axis=1)
    negatives = np.full(len(queries), scores.shape[1])
    for row, query in enumerate(zip(anchors, relations, answers, strict=True)):
        filtered = scores[row, known.of(*query, side)]
        above[row] -= (filtered > true[row]).sum()
        tied[row] -= (filtered == true[row]).sum()
        negatives[row] -= len(filtered)
    if stated is not None and isinstance(scorer, SaysHowLikely):
        first, probabilities = scorer.first_answers(anchors, relations, scores, side=side)
        asked = zip(anchors, relations, answers, strict=True)
        right = [one in known.of(*query, side) for one, query in zip(first.tolist(), asked, strict=True)]
        stated.append((probabilities, np.array(right, dtype=np.float64)))
    return Ranks(1 + above, 1 + above + tied, negatives)
