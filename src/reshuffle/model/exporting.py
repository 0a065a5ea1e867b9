"""Matrices and states as Parquet files with names, one number per row, for other programs.

| file | columns |
| --- | --- |
| `matrices.parquet` | relation, slot, from_slot, value: the entries of B_r, inverses and identities by name |
| `path_matrices.parquet` | the same of a hardened model's soft matrices, which its "paths" evidence sees |
| `weights.parquet` | relation, slot, weight: how much a slot counts in the score, where the model has weights |
| `states.parquet` | entity, slot, channel, value: Z^(m), where entities have states before a question |
| `head_states.parquet` | head, entity, slot, value: the channels of given heads, without zeros |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from reshuffle.kg.io.files import written_whole
from reshuffle.model.channels.query import HeadChannels
from reshuffle.model.hardening import all_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.reshuffle import ReshuffleModel

_MOST_ROWS = 1 << 20  # made at once


@torch.no_grad()
def export_matrices(
    model: ReshuffleModel, relations: Sequence[str], identities: Sequence[str], folder: Path
) -> list[Path]:
    """Write `matrices.parquet`, and `path_matrices.parquet` and `weights.parquet` where there are such."""
    names = all_names(relations, identities)
    columns = ("relation", "slot", "from_slot", "value")
    kept = {"matrices": model.matrices, "path_matrices": model.path_matrices}
    written = [
        _write(folder / f"{name}.parquet", columns, names, [(0, matrices().cpu().numpy())])
        for name, matrices in kept.items()
        if matrices is not None
    ]
    if model.slot_logits is not None:
        weights = model.slot_weights().cpu().numpy()  # identities are never asked for and have none
        written.append(
            _write(folder / "weights.parquet", ("relation", "slot", "weight"), names, [(0, weights)])
        )
    return written


@torch.no_grad()
def export_states(model: ModelOnGraph, folder: Path) -> Path:
    """Write `states.parquet`."""
    states = model.channels.states.cpu().numpy()
    step = max(1, _MOST_ROWS // max(1, states[0].size if len(states) else 1))
    blocks = [(start, states[start : start + step]) for start in range(0, len(states), step)]
    columns = ("entity", "slot", "channel", "value")
    return _write(folder / "states.parquet", columns, list(model.graph.entities), blocks)


@torch.no_grad()
def export_head_states(model: ModelOnGraph, heads: Sequence[str], folder: Path) -> Path:
    """Write `head_states.parquet`."""
    ids = model.graph.entities.ids(heads)
    names = pa.array(list(model.graph.entities), pa.large_string())

    channels = HeadChannels(model.tensors, model.tensors.messages)

    def tables() -> Iterator[pa.Table]:
        for number in ids:
            head = model.on_device(np.array([number]))
            states = channels.states(model.matrices, head)[:, :, 0].cpu().numpy()
            entities, slots = np.nonzero(states)
            columns = [
                names.take(pa.array(np.full(len(entities), number))),
                names.take(pa.array(entities)),
                pa.array(slots.astype(np.int32)),
                pa.array(states[entities, slots]),
            ]
            yield pa.Table.from_arrays(columns, ["head", "entity", "slot", "value"])

    return _write_tables(folder / "head_states.parquet", tables())


def _write(
    path: Path,
    columns: Sequence[str],
    names: Sequence[str],
    blocks: Sequence[tuple[int, NDArray[np.float32]]],
) -> Path:
    """Arrays [name, slot, ...] from a name on, block by block."""
    known = pa.array(names, pa.large_string())

    def tables() -> Iterator[pa.Table]:
        for start, values in blocks:
            places = np.indices(values.shape).reshape(values.ndim, -1)
            arrays = [known.take(pa.array(places[0] + start))]
            arrays += [pa.array(place.astype(np.int32)) for place in places[1:]]
            yield pa.Table.from_arrays([*arrays, pa.array(values.reshape(-1))], list(columns))

    return _write_tables(path, tables())


def _write_tables(path: Path, tables: Iterator[pa.Table]) -> Path:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and only needed here

    first = next(tables, None)
    with written_whole(path) as aside:
        if first is None:
            pq.write_table(pa.table({}), aside)
            return path
        with pq.ParquetWriter(aside, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
    return path
