"""The named benchmarks and their data cards.

reshuffle data list                  every data set: kind, size, and where its files are
reshuffle data show FB15k-237-v1     origin, licence, counts, relations by size, degrees
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.text import table

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.data import DataCard
    from reshuffle.kg.splits import Benchmark, GraphSplit

HELP = "list and describe the named benchmarks"

_RELATIONS_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """`data list` and `data show NAME`."""
    parser.add_argument("what", choices=("list", "show"), help="list all data sets, or show one")
    parser.add_argument("name", nargs="?", help="the data set to show")
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Answer the question; exit status 0, or 2 for an unknown name or missing files."""
    if arguments.what == "list" and arguments.name is not None:
        arguments.usage_error("`data list` takes no name; did you mean `data show NAME`?")
    if arguments.what == "show" and arguments.name is None:
        arguments.usage_error("`data show` needs a name; `data list` gives them")
    return _list(console) if arguments.what == "list" else _show(arguments.name, console)


def _list(console: Console) -> int:
    from reshuffle.data.load import data_cards  # noqa: PLC0415 - slow to import

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
    from reshuffle.data import find_files  # noqa: PLC0415 - slow to import

    if card.folder is None:
        return "embedded"
    found = find_files(card)
    return str(found.directory) if found else "not here"


def _show(name: str, console: Console) -> int:
    from reshuffle.data.load import data_card, load_benchmark  # noqa: PLC0415 - slow to import

    card = data_card(name)
    splits = _splits(load_benchmark(name, progress=console.progress))
    graphs = {role: card.graphs[role].to_dict() | _measured(split) for role, split in splits.items()}
    data = card.to_dict() | {"where": _where(card), "graphs": graphs}
    most = None if console.verbosity > 0 else _RELATIONS_SHOWN
    parts = [_card_text(data), *(_graph_text(role, graph, most) for role, graph in graphs.items())]
    console.result("\n\n".join(parts), data)
    return 0


def _splits(benchmark: Benchmark) -> dict[str, GraphSplit]:
    from reshuffle.kg.splits import InductiveBenchmark  # noqa: PLC0415 - slow to import

    if isinstance(benchmark, InductiveBenchmark):
        return {"train": benchmark.train, "test": benchmark.test}
    return {"graph": benchmark.graph}


def _measured(split: GraphSplit) -> dict[str, Any]:
    from reshuffle.kg.summary import degree_summary, relation_sizes  # noqa: PLC0415 - slow to import

    degrees = {kind: degree.to_dict() for kind, degree in degree_summary(split.facts).items()}
    return {"relations_by_size": relation_sizes(split.facts), "degrees": degrees}


def _card_text(data: dict[str, Any]) -> str:
    lines = [f"{data['name']} ({data['kind']})", data["title"], ""]
    lines += [f"origin   {data['origin']}", f"licence  {data['licence']}", f"files    {data['where']}"]
    if data["url"]:
        lines.append(f"from     {data['url']}")
    return "\n".join([*lines, *(f"note     {note}" for note in data["notes"])])


def _graph_text(role: str, graph: dict[str, Any], most: int | None) -> str:
    title = {"train": "Training graph", "test": "Test graph"}.get(role, "Graph")
    counts = (
        f"{title}: {graph['relations']:,} relations, {graph['entities']:,} entities, "
        f"{graph['triples']:,} triples "
        f"({graph['facts']:,} facts, {graph['valid']:,} validation, {graph['queries']:,} queries)"
    )
    degrees = [[f"edges {kind}", *numbers.values()] for kind, numbers in graph["degrees"].items()]
    sizes = list(graph["relations_by_size"].items())
    lines = [counts, "", table(["per entity", "least", "median", "mean", "most"], degrees), ""]
    lines.append(table(["facts of relation", "triples"], sizes[:most]))
    if len(sizes) > len(sizes[:most]):
        lines.append(f"... and {len(sizes) - len(sizes[:most])} more; -v shows all")
    return "\n".join(lines)
