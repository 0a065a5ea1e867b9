"""How far a model, its hardened forms and its rules agree: `python -m benchmarks.fidelity [MODELS [FORM...]]`.

MODELS is a folder of trained models as `reshuffle bench paper --recipe best-0.1 --models MODELS` leaves them, named by
their cells. Each is compared on the queries of its test graph; results go to `benchmarks/results/fidelity.jsonl`, where
what is there already is not run again but for the forms that are named, and into the tables of
docs/explanation/extraction.md.

| form | what it is |
| --- | --- |
| soft | the model as it was trained |
| hardened | hard matrices, evidence as it was learned |
| throughout | hard matrices, and "paths" evidence sees the hard states, too |
| rules | the extracted rules with their confidences on the training facts, and nothing else |
| types | the type baseline, fitted on the training facts |
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.agreement import fidelity
from benchmarks.machine import describe
from benchmarks.pages import rewrite, text_table
from benchmarks.paper import DATASETS
from benchmarks.result_files import RESULTS, ROOT, changed_results, read_results

from reshuffle.cli.console import Console
from reshuffle.data.load import load_benchmark
from reshuffle.evaluation import TypeBaseline
from reshuffle.extraction import extract_rules
from reshuffle.kg.io.toml import read_toml
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.learning.estimator import Reshuffle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation import Scorer
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress

FIDELITY = RESULTS / "fidelity.jsonl"
PAGE = ROOT / "docs" / "explanation" / "extraction.md"
LENGTH, MOST_RULES = 3, 2000
FORMS = ("soft", "hardened", "throughout", "rules", "types")
PROTOCOLS = {"hits@10": "sampled-50", "mrr": "full"}


@dataclass(frozen=True)
class Remembering:
    """A scorer that scores all entities once per question, as it is asked by several protocols."""

    scorer: Scorer
    _rows: dict[tuple[int, int, Side], NDArray[np.float32]] = field(default_factory=dict)

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph of the scorer."""
        return self.scorer.graph

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """The relations that the scorer has learned; all where it does not say."""
        every = np.ones(len(self.graph.relations), dtype=np.bool_)
        known: NDArray[np.bool_] = getattr(self.scorer, "learned_relations", every)
        return known

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """The scores of the scorer, as `Scorer` defines them."""
        asked = list(zip(anchors.tolist(), relations.tolist(), strict=True))
        missing = [pair for pair in dict.fromkeys(asked) if (*pair, side) not in self._rows]
        if missing:
            new = np.array(missing, dtype=np.int32)
            found = self.scorer.scores(new[:, 0], new[:, 1], side=side, candidates=None)
            self._rows.update({(*pair, side): row for pair, row in zip(missing, found, strict=True)})
        rows = np.stack([self._rows[(*pair, side)] for pair in asked])
        return rows if candidates is None else np.take_along_axis(rows, candidates, axis=1)


def compared(folder: Path, forms: Sequence[str], progress: Progress) -> dict[str, Any]:
    """One model in some of its forms, beside the soft one."""
    bench, started = load_benchmark(folder.name.split(".")[0]), time.perf_counter()
    assert isinstance(bench, InductiveBenchmark)
    model = Reshuffle.load(folder, device="cpu")
    graph, seed = bench.test.facts, model.settings.training.seed
    row: dict[str, Any] = {
        "dataset": bench.name,
        "cell": folder.name,
        "model": _digest(folder),
        "seed": seed,
        "relations": len(model.relations),
    }
    seconds: dict[str, float] = {}
    scorers: dict[str, Scorer] = {"soft": model.on(graph)}
    if "hardened" in forms:
        scorers["hardened"] = model.hardened().on(graph)
    if "throughout" in forms:
        scorers["throughout"] = model.hardened(paths=True).on(graph)
    if "rules" in forms:
        rules = extract_rules(
            model, on=bench.train.facts, max_length=LENGTH, most=MOST_RULES, progress=progress
        )
        scorers["rules"] = rules.on(graph)
        finding = sum((rule.quality.support or 0) > 0 for rule in rules.to_rule_base() if rule.quality)
        row |= {"rules": len(rules), "all rules": rules.complete, "rules that find a training fact": finding}
        seconds["extraction"] = round(time.perf_counter() - started, 1)
    if "types" in forms:
        scorers["types"] = TypeBaseline.fit(bench.train.facts).on(graph)
    remembering = {name: Remembering(scorer) for name, scorer in scorers.items()}
    results = {
        metric: fidelity(
            remembering,
            bench.test.queries,
            protocol=protocol,
            known=bench.test,
            seed=seed,
            unknown="skip",
            progress=progress,
        )
        for metric, protocol in PROTOCOLS.items()
    }
    full = results["mrr"]
    if set(forms) == set(FORMS):
        seconds["comparison"] = round(time.perf_counter() - started - seconds["extraction"], 1)
    return {
        **row,
        "seconds": seconds,
        "queries": full.reports["soft"].queries,
        "skipped": full.skipped,
        "forms": {
            form: {
                **{metric: result.reports[form][metric] for metric, result in results.items()},
                "tie rate": full.reports[form].to_dict()["tie_rate"],
            }
            for form in scorers
        },
        "agreement with soft": {
            pair.second: {"top 1": pair.top1, "top 10": pair.top10}
            for pair in full.agreements
            if pair.first == "soft"
        },
    }


def _digest(folder: Path) -> str:
    """The digest of the model's arrays."""
    digest: str = read_toml(folder / "settings.toml")["arrays"]
    return digest


def stored_rows() -> dict[str, dict[str, Any]]:
    """What has been compared, by data set."""
    return {row["dataset"]: row for row in read_results(FIDELITY).rows}


def run(models: Path, progress: Progress, *, again: Sequence[str] = ()) -> None:
    """Compare the models of a folder that have not been compared; those that have been in the forms `again` alone."""
    folders = sorted(path for path in models.iterdir() if (path / "settings.toml").exists())
    with progress("fidelity", total=len(folders), unit="data set") as report:
        for folder in folders:
            stored = next((row for row in stored_rows().values() if row["model"] == _digest(folder)), {})
            forms = again if stored else FORMS
            if forms:
                row = _merged(stored, compared(folder, forms, progress))
                print(json.dumps(row), file=sys.stderr)
                _store(row)
            report(1, folder.name)


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new values in place of the old ones."""
    parts = ("forms", "agreement with soft", "seconds")
    return {**old, **new, **{part: {**old.get(part, {}), **new[part]} for part in parts}}


def _store(row: dict[str, Any]) -> None:
    places = {dataset: place for place, dataset in enumerate(DATASETS)}
    with changed_results(FIDELITY) as stored:
        others = [other for other in stored.rows if other["dataset"] != row["dataset"]]
        stored.rows = sorted(
            [*others, row], key=lambda row: (places.get(row["dataset"], len(places)), row["dataset"])
        )
        stored.about = {
            "what": "a model in all its forms on the queries of the test graph: soft, hardened, rules",
            "command": "python -m benchmarks.fidelity MODELS",
            "protocols": PROTOCOLS,
            "max_length": LENGTH,
            "most_rules": MOST_RULES,
            **describe(["reshuffle", "torch", "numpy"]),
        }


# --- the page -----------------------------------------------------------------------------------------------------


def metric_table(metric: str) -> str:
    """Each form's, and the share of the soft model's that the hardened ones and the rules keep."""
    rows: list[list[object]] = []
    for dataset, row in stored_rows().items():
        own = {form: row["forms"][form][metric] for form in FORMS}
        kept = {form: share_kept(row, metric, form) for form in FORMS[1:4]}
        both = [number for form in FORMS[1:4] for number in (own[form], kept[form])]
        rows.append([dataset, own["soft"], *both, own["types"]])
    names = [name for form in FORMS[1:4] for name in (form, "kept")]
    return text_table(["data set", "soft", *names, "types"], [*rows, _means(rows)])


def share_kept(row: dict[str, Any], metric: str, form: str) -> float:
    """The share of the soft model's metric that a form keeps."""
    share: float = row["forms"][form][metric] / row["forms"]["soft"][metric]
    return share


def agreement_table() -> str:
    """How much of its first answer and of its first ten each form has in common with the soft model."""
    rows: list[list[object]] = [
        [dataset, *(row["agreement with soft"][form][f"top {k}"] for form in FORMS[1:] for k in (1, 10))]
        for dataset, row in stored_rows().items()
    ]
    header = [name for form in FORMS[1:] for name in (form, "10")]
    return text_table(["data set", *header], [*rows, _means(rows)])


def ties_table() -> str:
    """Tie rates, the number of rules, and what it cost."""
    rows: list[list[object]] = [
        [
            dataset,
            *(row["forms"][form]["tie rate"] for form in FORMS),
            row["rules"],
            "yes" if row["all rules"] else "no",
            round(row["seconds"]["extraction"]),
            round(row["seconds"]["comparison"]),
        ]
        for dataset, row in stored_rows().items()
    ]
    header = ["data set", *FORMS, "number of rules", "all", "s to extract", "s to compare"]
    return text_table(header, rows)


def _means(rows: list[list[object]]) -> list[object]:
    columns = list(zip(*rows, strict=True))[1:]
    return ["mean", *(mean(float(str(value)) for value in column) for column in columns)]


def made_tables() -> dict[str, str]:
    """All tables of the page, by name."""
    return {
        "fidelity hits": metric_table("hits@10"),
        "fidelity mrr": metric_table("mrr"),
        "fidelity agreement": agreement_table(),
        "fidelity ties": ties_table(),
    }


def main() -> None:
    """Compare the models of a folder, if one is given, and rewrite the page."""
    models, again = sys.argv[1:2], sys.argv[2:]
    if not {*again} <= {*FORMS[1:]}:
        raise SystemExit(f"usage: python -m benchmarks.fidelity [MODELS [{'|'.join(FORMS[1:])}...]]")
    for folder in models:
        run(Path(folder), Console().progress, again=again)
    rewrite(PAGE, made_tables())
    print(f"{PAGE.relative_to(ROOT)}: {len(stored_rows())} data sets", file=sys.stderr)


if __name__ == "__main__":
    main()
