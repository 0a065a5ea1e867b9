"""Benchmarks: graphs with held-out triples, your own or named ones.

An *inductive* benchmark has two graphs over the same relations and different entities. A model is trained
on `train.facts` and validated on `train.valid`. It is then given `test.facts` and ranks `test.queries`; `test.valid`
holds further true triples of the test graph. A *transductive* benchmark has a single graph.

Named benchmarks have data cards (`cards.json`): where they come from, their counts, and a checksum for each
file. Their files are found in `$RESHUFFLE_DATA`, in `../shared/datasets`, or in the cache into which they are
downloaded (`finding`, `downloading`). Your own data comes in by `from_files` and `from_directory`.
"""

from reshuffle.data.cards import DataCard, FileCard, GraphCard, card_of, file_cards
from reshuffle.data.finding import DataNotFoundError, find_files
from reshuffle.data.load import load_from_files

__all__ = [
    "DataCard",
    "DataNotFoundError",
    "FileCard",
    "GraphCard",
    "card_of",
    "file_cards",
    "find_files",
    "load_from_files",
]
