"""The named benchmarks and their data cards, and summaries of your own facts.

reshuffle data list                  every data set: kind, size, and where its files are
reshuffle data show FB15k-237-v1     origin, licence, counts, relations by size, degrees
reshuffle data show facts.tsv        the same of a file, a folder or a benchmark's directory, and names that look odd
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import InputFacts, benchmark_of, graph_of, refuse_skipping
from reshuffle.cli.options import add_columns, add_naming_options
from reshuffle.text import counted, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from reshuffle.cli.console import Console
    from reshuffle.data import DataCard
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.splits import Benchmark, GraphSplit

HELP = "describe the named benchmarks, and your own facts"

_RELATIONS_SHOWN = 10
_NOWHERE = "not here"


def configure(parser: argparse.ArgumentParser) -> None:
    """`data list`, and `data show` of a name, of files or of a directory."""
    parser.add_argument("what", choices=("list", "show"), help="list all data sets, or show one")
    parser.add_argument(
        "facts", type=InputFacts, nargs="*", metavar="name", help="the data set to show, or files of facts"
    )
    add_columns(parser)
    add_naming_options(parser)
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Answer the question; exit status 0, or 2 for an unknown name or missing files."""
    if arguments.what == "list" and arguments.facts:
        arguments.usage_error("`data list` takes no name; did you mean `data show NAME`?")
    if arguments.what == "show" and not arguments.facts:
        arguments.usage_error("`data show` needs a name; `data list` gives them")
    if arguments.what == "list":
        return _list(console)
    first, *more = arguments.facts
    if more or not _is_name(first):
        return _show_files(arguments, console)
    return _show(first, console)


def _is_name(given: str) -> bool:
    """Is a benchmark meant? An unknown name is one, too, unless it leads to a file."""
    from reshuffle.data.load import benchmark_names

    is_path = Path(given).exists() or Path(given).suffix or glob.has_magic(given) or given == "-"
    return given in benchmark_names() or not is_path


def _list(console: Console) -> int:
    from reshuffle.data.load import data_cards

    cards = data_cards().values()
    header = ["name", "kind", "relations", "entities", "triples", "where"]
    rows = [[card.name, card.kind, *_sizes(card), _where(card)] for card in cards]
    legend = "Counts of the training and the test graph; triples with validation and test."
    console.result(
        f"{table(header, rows)}\n\n{legend}", [card.to_dict() | {"where": _where(card)} for card in cards]
    )
    return 0


def _sizes(card: DataCard) -> list[str]:
    graphs = card.graphs.values()
    return [
        " / ".join(f"{getattr(graph, what):,}" for graph in graphs)
        for what in ("relations", "entities", "triples")
    ]


def _where(card: DataCard) -> str:
    from reshuffle.data import find_files

    if card.folder is None:
        return "embedded"
    found = find_files(card)
    return str(found.directory) if found else _NOWHERE


def _show(name: str, console: Console) -> int:
    from reshuffle.data.load import data_card, load_benchmark

    card = data_card(name)
    where = _where(card)
    graphs = {role: graph.to_dict() for role, graph in card.graphs.items()}
    if where == _NOWHERE:
        console.message(
            "the files are not here, so what follows is the card alone; `train` and the like download them"
        )
    else:
        splits = _splits(load_benchmark(name, progress=console.progress))
        graphs = {role: graphs[role] | _measured(split.facts) for role, split in splits.items()}
    data = card.to_dict() | {"where": where, "graphs": graphs}
    most = None if console.verbosity > 0 else _RELATIONS_SHOWN
    parts = [_card_text(data), *(_graph_text(role, graph, most) for role, graph in graphs.items())]
    console.result("\n\n".join(parts), data)
    return 0


def _show_files(arguments: argparse.Namespace, console: Console) -> int:
    """A summary of your own facts, or of a benchmark in a directory of yours."""
    from reshuffle.kg.splits import GraphSplit
    from reshuffle.kg.summary import odd_names

    first, *more = arguments.facts
    bench = None if more else benchmark_of(first, console)
    if bench is None:
        console.names.learn(arguments, *arguments.facts, labels=True)
        graph = graph_of(arguments, console)
        splits = {"graph": GraphSplit(graph, graph - graph, graph - graph)}
    else:
        refuse_skipping(arguments, "a benchmark")
        splits = _splits(bench)
    most = None if console.verbosity > 0 else _RELATIONS_SHOWN
    graphs = {role: _counts(split) | _measured(split.facts) for role, split in splits.items()}
    odd = {role: odd_names(split.triples) for role, split in splits.items()}
    kind = "facts" if bench is None else "inductive" if len(splits) > 1 else "transductive"
    data = {"files": list(arguments.facts), "kind": kind, "graphs": graphs, "odd_names": odd}
    parts = [f"{', '.join(arguments.facts)} ({kind})"]
    parts += [_graph_text(role, graph, most, console.names.text) for role, graph in graphs.items()]
    parts += [text for role, found in odd.items() if (text := _odd_text(found, most))]
    console.result("\n\n".join(parts), data)
    return 0


def _counts(split: GraphSplit) -> dict[str, Any]:
    everything = split.triples
    return {
        "relations": len(everything.relations),
        "entities": everything.num_entities,
        "triples": len(everything),
        "facts": len(split.facts),
        "valid": len(split.valid),
        "queries": len(split.queries),
    }


def _odd_text(found: dict[str, list[list[str]]], most: int | None) -> str:
    """The names that look like mistakes, by what is odd about them."""
    lines = []
    for what, names in found.items():
        if names:
            lines.append(f"names {what}: {len(names):,}")
            lines += [f"    {_spelled(group)}" for group in names[:most]]
    return "\n".join(lines)


def _spelled(names: list[str]) -> str:
    """Names as they are; those that look alike in escapes, too."""
    shown = "  ".join(map(repr, names))
    return shown if len(names) == 1 else f"{shown}    that is {'  '.join(map(ascii, names))}"


def _splits(benchmark: Benchmark) -> dict[str, GraphSplit]:
    from reshuffle.kg.splits import InductiveBenchmark

    if isinstance(benchmark, InductiveBenchmark):
        return {"train": benchmark.train, "test": benchmark.test}
    return {"graph": benchmark.graph}


def _measured(graph: KnowledgeGraph) -> dict[str, Any]:
    from reshuffle.kg.summary import degree_summary, relation_sizes

    degrees = {kind: degree.to_dict() for kind, degree in degree_summary(graph).items()}
    return {"relations_by_size": relation_sizes(graph), "degrees": degrees}


def _card_text(data: dict[str, Any]) -> str:
    lines = [f"{data['name']} ({data['kind']})", data["title"], ""]
    lines += [f"origin   {data['origin']}", f"licence  {data['licence']}", f"files    {data['where']}"]
    if data["url"]:
        lines.append(f"from     {data['url']}")
    return "\n".join([*lines, *(f"note     {note}" for note in data["notes"])])


def _graph_text(role: str, graph: dict[str, Any], most: int | None, shown: Callable[[str], str] = str) -> str:
    title = {"train": "Training graph", "test": "Test graph"}.get(role, "Graph")
    counts = (
        f"{title}: {counted(graph['relations'], 'relation')}, {counted(graph['entities'], 'entity', 'entities')}, "
        f"{counted(graph['triples'], 'triple')} "
        f"({counted(graph['facts'], 'fact')}, {graph['valid']:,} validation, "
        f"{counted(graph['queries'], 'query', 'queries')})"
    )
    if "degrees" not in graph:
        return counts
    degrees = [[f"edges {kind}", *numbers.values()] for kind, numbers in graph["degrees"].items()]
    sizes = [(shown(name), size) for name, size in graph["relations_by_size"].items()]
    lines = [counts, "", table(["per entity", "least", "median", "mean", "most"], degrees), ""]
    lines.append(table(["facts of relation", "triples"], sizes[:most]))
    if len(sizes) > len(sizes[:most]):
        lines.append(f"... and {len(sizes) - len(sizes[:most])} more; -v shows all")
    return "\n".join(lines)
