"""The calls of the command line whose answers are recorded, on the files in `inputs/` and `files/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """Commands that are given one after the other, on copies of stored directories where they would change them."""

    name: str
    steps: list[list[str]]
    copies: dict[str, str] = field(default_factory=dict)
    stdin: str = ""


def _call(line: str, *more: str, **options: Any) -> Call:
    """One command, as a line of words; words with blanks come behind it."""
    return Call(" ".join([line, *more]), [[*line.split(), *more]], **options)


def _both(line: str, *more: str) -> list[Call]:
    """In words and as JSON."""
    return [_call(line, *more), _call(f"{line} --json", *more)]


_FACTS = "inputs/facts.tsv"
_MODELS = (
    "best",
    "paper",
    "evidence",
    "ways",
    "plain-head",
    "official",
    "continuous",
    "shared",
    "squared",
    "injected",
    "refined",
    "private",
)
_COUSIN = ("Esther Birkenfall", "cousin", "Frida Eldermarsh")
_PARENT = ("Esther Birkenfall", "parent", "Aaron Birkenfall")
_DERIVED = ("David Heathermoor", "cousin", "Esther Birkenfall")
_UNCLE = ("Frida Eldermarsh", "uncle", "Aaron Birkenfall")
_QUICK = "--set num_slots=3 --set num_layers=2 --set epoch_steps=3 --set max_epochs=2 --set look_every=1 --device cpu"
_QUICK_PAPER = (
    "--recipe paper --set num_slots=3 --set num_channels=4 --set num_layers=2 --set num_negatives=3 "
    "--set max_epochs=2 --set look_every=1 --device cpu"
)


def _general() -> list[Call]:
    wrong = ["", "chekc", "check", "check --nonsense inputs/family.rules", "infer inputs/family.rules"]
    return [_call("--version"), *map(_call, wrong)]


def _rule_files() -> list[Call]:
    checked = [
        "inputs/family.rules",
        "inputs/ancestors.rules",
        "inputs/counting.rules",
        "inputs/counting.rules --bound 3",
        "inputs/meeting.rules",
        "inputs/mined.anyburl --skip-unsupported --bound 2",
        "inputs/mined.amie",
        "inputs/ontology.ttl",
        "inputs/program.rls",
        "inputs/family.rules -v",
        "inputs/family.rules -q",
        "inputs/empty.rules",
    ]
    bad = [
        "inputs/mined.anyburl",
        "inputs/open.rules",
        "inputs/broken.rules",
        "inputs/constants.rules",
        "inputs/facts.tsv",
        "inputs/none.rules",
        "inputs/family.rules --bound 0",
        "inputs/family.rules --bound -1",
        "inputs/family.rules --node-budget 2",
        "files/best",
        "files/family.json",
    ]
    calls = [call for line in checked for call in _both(f"check {line}")]
    calls += [_call(f"check {line}") for line in bad]
    calls += _both("compile inputs/family.rules -o out/family.json")
    calls += _both("compile inputs/counting.rules -o out/counting.json --bound 3")
    calls += [
        _call("compile inputs/counting.rules -o out/counting.json"),
        _call("compile inputs/meeting.rules -o out/meeting.json"),
        _call("compile inputs/family.rules -o none/family.json"),
        _call("compile inputs/family.rules"),
    ]
    calls += _both("draw inputs/family.rules -o out/graph.dot --slots")
    calls += _both("draw inputs/family.rules -o out/graph.mmd --slots")
    calls += [
        _call("draw inputs/counting.rules --bound 2 -o out/graph.dot --slots"),
        _call("draw inputs/counting.rules -o out/graph.dot --slots"),
        _call("draw inputs/family.rules -o out/graph.pdf"),
    ]
    calls += _both("draw inputs/family.rules -o out/rules.mmd")
    calls += [
        _call("draw inputs/counting.rules -o out/rules.dot"),
        _call("draw inputs/counting.rules --bound 2 -o out/rules.dot"),
    ]
    return calls


def _infer() -> list[Call]:
    lines = [
        f"inputs/family.rules {_FACTS}",
        f"inputs/family.rules {_FACTS} --count",
        f"inputs/ancestors.rules {_FACTS}",
        f"inputs/family.rules {_FACTS} --engine chase",
        f"inputs/family.rules {_FACTS} --engine chase --count",
        f"inputs/family.rules {_FACTS} --bound 1",
        f"inputs/family.rules {_FACTS} --sketch 8 --seed 3 --count",
        f"inputs/family.rules {_FACTS} --epsilon 0.1 --count",
        "inputs/counting.rules inputs/counting.tsv --bound 2",
        "inputs/counting.rules inputs/counting.tsv --engine chase",
        "inputs/meeting.rules inputs/meeting.tsv",
        "inputs/meeting.rules inputs/meeting.tsv --engine chase",
        "inputs/meeting.rules inputs/meeting.csv",
        "inputs/ontology.ttl inputs/facts.ttl",
        f"inputs/mined.anyburl {_FACTS} --skip-unsupported --engine chase",
        f"files/family.json {_FACTS}",
        f"files/family.json {_FACTS} --engine chase --count",
        "files/counting.json inputs/counting.tsv",
        "files/meeting.json inputs/meeting.tsv",
        *(f"files/{model} {_FACTS} --count" for model in _MODELS),
        f"files/injected {_FACTS}",
        f"files/private {_FACTS}",
        "files/best inputs/strange.tsv",
    ]
    calls = [call for line in lines for call in _both(f"infer {line}")]
    written = ["triples.tsv", "triples.csv", "triples.parquet", "triples.tsv.gz", "triples.nt", "triples.ttl"]
    calls += [_call(f"infer inputs/family.rules {_FACTS} -o out/{name}") for name in written]
    calls += [
        _call(f"infer inputs/family.rules {_FACTS} --count -o out/counts.txt --json"),
        _call("infer inputs/ontology.ttl inputs/facts.ttl -o out/triples.nt"),
        _call("infer inputs/meeting.rules inputs/meeting.tsv -v"),
        _call("infer inputs/meeting.rules inputs/meeting.tsv -q"),
        _call("infer inputs/meeting.rules inputs/header.tsv"),
        _call("infer inputs/meeting.rules -", stdin="ada\tworksIn\tlondon\nada\tlivesIn\tlondon\n"),
    ]
    bad = [
        "inputs/counting.rules inputs/counting.tsv",
        "files/counting.json inputs/counting.tsv --bound 9",
        "inputs/family.rules inputs/short.tsv",
        "inputs/family.rules inputs/inverse.tsv",
        "inputs/family.rules inputs/empty.tsv",
        "inputs/family.rules inputs/none.tsv",
        "inputs/family.rules inputs/counting.tsv",
        f"inputs/family.rules {_FACTS} --engine warp",
        f"inputs/family.rules {_FACTS} --engine chase --bound 2",
        f"inputs/family.rules {_FACTS} --memory 2potatoes",
        f"inputs/family.rules {_FACTS} --sketch 0",
        f"inputs/family.rules {_FACTS} -o none/triples.tsv",
        f"files/best {_FACTS} --engine chase",
        f"files/best {_FACTS} --sketch 4 --count",
        f"files/none {_FACTS}",
        f"files {_FACTS}",
        f"files/unfinished-best {_FACTS}",
    ]
    return calls + [_call(f"infer {line}") for line in bad]


def _explain() -> list[Call]:
    calls = []
    for rules in ("inputs/family.rules", "files/family.json", "inputs/family.rules --engine chase"):
        for triple in (
            _COUSIN,
            _PARENT,
            _DERIVED,
            _UNCLE,
            ("Albin Tansymoor", "grandparent", "Clara Oakenshade"),
        ):
            calls += _both(f"explain {rules} {_FACTS}", *triple)
    calls += _both(f"explain inputs/family.rules {_FACTS} --most 3", *_PARENT)
    calls += _both("explain inputs/meeting.rules inputs/meeting.tsv ada knows london")
    calls += _both("explain inputs/meeting.rules inputs/meeting.tsv bob localTo rome")
    calls += _both("explain inputs/counting.rules inputs/counting.tsv 1 b 6 --bound 4")
    calls += _both("explain inputs/counting.rules inputs/counting.tsv 1 b 6 --bound 2")
    calls += _both("explain files/counting.json inputs/counting.tsv 1 b 6")
    for model in _MODELS:
        calls += _both(f"explain files/{model} {_FACTS}", *_PARENT)
        calls += _both(f"explain files/{model} {_FACTS} --most 2", *_COUSIN)
    for model in ("best", "injected", "private", "paper", "squared"):
        calls += _both(f"explain files/{model} {_FACTS} --hard", *_PARENT)
    bad = [
        "inputs/family.rules inputs/facts.tsv Nobody parent Noone",
        "inputs/meeting.rules inputs/meeting.tsv ada lovesIn london",
        "inputs/meeting.rules inputs/meeting.tsv ada knows london --most 0",
        "inputs/meeting.rules inputs/meeting.tsv ada knows london --hard",
        "files/best inputs/facts.tsv Nobody parent Noone",
        "files/best inputs/facts.tsv ada parent london --bound 2",
        "inputs/meeting.rules inputs/meeting.tsv ada knows",
    ]
    return calls + [_call(f"explain {line}") for line in bad]


def _training() -> list[Call]:
    train = f"train {_FACTS} -o out/model"
    unfinished = {"out/model": "files/unfinished-best"}
    calls = [
        *_both(f"{train} {_QUICK}"),
        *_both(f"{train} {_QUICK_PAPER} --valid inputs/valid.tsv"),
        *_both(f"{train} {_QUICK} --inject inputs/family.rules"),
        *_both(f"{train} {_QUICK} --inject inputs/mined.anyburl --inject-slots 6 -v"),
        _call(
            f"{train} {_QUICK_PAPER} --set num_slots=16 --inject inputs/family.rules --inject-mode refine --json"
        ),
        _call(f"{train} --config inputs/quick.toml -v --valid inputs/empty.tsv"),
        _call(f"{train} --config inputs/quick.toml --resume"),
        Call(
            "train again, then on",
            [
                f"{train} {_QUICK_PAPER}".split(),
                f"{train} {_QUICK_PAPER}".split(),
                f"{train} {_QUICK_PAPER} --set max_epochs=3 --resume".split(),
                f"{train} {_QUICK_PAPER} --set margin=2 --resume".split(),
            ],
        ),
        _call(f"{train} {_QUICK} --resume", copies=unfinished),
    ]
    bad = [
        f"{train} --config inputs/mistyped.toml",
        f"{train} --set num_slot=3",
        f"{train} --set num_slots",
        f"{train} --set num_slots=0",
        f"{train} --set num_slots=many",
        f"{train} --set initial=heads",
        f"{train} --set initial=private",
        f"{train} --recipe paper --set slot_weights=true",
        f"{train} --recipe paper --set drop_facts=0.5",
        f'{train} --recipe paper --set evidence=["paths"]',
        f"{train} --max-epochs 3",
        f"{train} --device warp",
        f"{train} --recipe best --set recipe=paper",
        f"{train} --inject-mode frozen",
        f"{train} --inject inputs/counting.rules",
        f"{train} --inject inputs/family.rules --inject-slots 1",
        f"{train} --recipe paper --inject inputs/family.rules",
        "train WN18R-v1 -o out/model",
        "train inputs/none.tsv -o out/model",
        "train inputs/inverse.tsv -o out/model",
        f"train {_FACTS}",
    ]
    calls += [_call(line) for line in bad]
    return calls


def _evaluate() -> list[Call]:
    own = f"--facts {_FACTS} --queries inputs/queries.tsv --known inputs/valid.tsv"
    calls = []
    for scorer in ("types", "rules", "rules+types", *_MODELS):
        calls += _both(f"evaluate {scorer} {own} --protocol full")
    calls += _both(f"evaluate files/best {own} --seed 4")
    calls += [
        _call(f"evaluate {scorer} {own} --json --protocol {protocol}")
        for protocol in ("sampled-50-official-code", "grail-49", "nbfnet-estimate", "type-matched")
        for scorer in ("files/injected", "rules+types")
    ]
    calls += _both(f"evaluate files/best {own} --save-negatives out/negatives.parquet")
    calls = [
        Call(
            call.name.replace(" files/", " "),
            [[f"files/{word}" if word in _MODELS else word for word in step] for step in call.steps],
        )
        for call in calls
    ]
    bad = [
        "best",
        "typos --benchmark families",
        f"types {own} --protocol half",
        f"types {own} --benchmark families",
        "types --benchmark familie",
        f"types --facts {_FACTS} --queries inputs/counting.tsv",
        f"types --facts {_FACTS} --queries inputs/strange.tsv --unknown skip",
        f"files/best --facts {_FACTS} --queries inputs/strange.tsv --protocol full",
        f"files/best --facts {_FACTS} --queries inputs/strange.tsv --protocol full --unknown isolate",
        f"files/best --facts {_FACTS} --queries inputs/strange.tsv --protocol full --unknown skip",
        f"files/best {own} --train {_FACTS}",
        f"rules {own} --no-rules",
        f"files/none {own}",
    ]
    return (
        calls
        + _both("evaluate types --benchmark families --no-rules")
        + [_call(f"evaluate {line}") for line in bad]
    )


def _predict() -> list[Call]:
    head, tail = ("--head", "Esther Birkenfall", "--relation", "cousin"), ("--tail", "Zoe Barleycroft")
    calls = []
    for model in _MODELS:
        calls += _both(f"predict files/{model} {_FACTS} --device cpu --top 4", *head)
        calls += [
            _call(
                f"predict files/{model} {_FACTS} --relation grandparent --reasons 2 --known mark --top 4",
                *tail,
            ),
            _call(f"predict files/{model} {_FACTS} --all --top 6 --json"),
        ]
    calls += [
        _call(f"predict files/best {_FACTS} --all --top 6"),
        _call(f"predict files/injected {_FACTS} --all --relation uncle --top 6 --reasons 1"),
        *(
            _call(f"predict files/evidence {_FACTS} --all --top 6 -o out/missing.{ending}")
            for ending in ("csv", "tsv", "parquet")
        ),
        _call("predict files/best inputs/strange.tsv --all --top 3"),
        _call(
            "predict files/best - --all --top 3",
            stdin="ada\tparent\teve\neve\tparent\tbob\nbob\tchild\teve\n",
        ),
    ]
    bad = [
        f"files/best {_FACTS}",
        f"files/best {_FACTS} --relation cousin",
        f"files/best {_FACTS} --head Nobody --relation cousin",
        f"files/best {_FACTS} --head Nobody --relation cousins --top 0",
        f"files/best {_FACTS} --all --head Nobody",
        f"files/best {_FACTS} --all -o out/missing.xls",
        f"files/best {_FACTS} --all --reasons 1 -o out/missing.csv",
        f"files/none {_FACTS} --all",
        f"files/family.json {_FACTS} --all",
    ]
    return calls + [_call(f"predict {line}") for line in bad]


def _rules() -> list[Call]:
    measured = f"--on {_FACTS} --top 6 --max-length 2"
    calls = [_call(f"rules files/{model} {measured} --json") for model in _MODELS]
    calls += [_call(f"rules files/{model} {measured}") for model in ("evidence", "injected", "private")]
    for file in ("family.json", "ancestors.json", "counting.json", "meeting.json"):
        calls += _both(f"rules files/{file} --max-length 2")
    lines = [
        "files/best --max-length 2 --top 5",
        f"files/best --on {_FACTS} --max-length 2 --min-confidence 0.5 --types --top 8",
        f"files/best --on {_FACTS} --max-length 2 --no-redundant --top 8",
        f"files/best --on {_FACTS} --max-length 2 --hard --top 8",
        f"files/family.json --on {_FACTS} --max-length 3",
        "files/best --top 0",
        "files/best --min-confidence 0.5",
        "files/best --types",
        "files/squared --hard",
        "files/none",
        "inputs/family.rules",
        f"{_FACTS}",
    ]
    lines += [
        f"files/evidence --on {_FACTS} --max-length 2 --top 6 --format {kind}"
        for kind in ("text", "anyburl", "amie", "datalog", "json")
    ]
    return calls + [_call(f"rules {line}") for line in lines]


def _data_and_bench() -> list[Call]:
    folders = "--results inputs/results --settings {root}/benchmarks/paper"
    return [
        *_both("data list"),
        *_both("data show families"),
        _call("data show families -v"),
        _call("data show WN18RR-v1"),
        _call("data show WN18R-v1"),
        _call("data show"),
        _call("data list families"),
        *_both(f"bench report {folders}"),
        _call("bench report --results inputs/none"),
        _call("bench paper --seeds one"),
        _call("bench paper --jobs 0"),
        _call("bench"),
        _call("bench speed"),
    ]


CALLS = [
    *_general(),
    *_rule_files(),
    *_infer(),
    *_explain(),
    *_training(),
    *_evaluate(),
    *_predict(),
    *_rules(),
    *_data_and_bench(),
]
