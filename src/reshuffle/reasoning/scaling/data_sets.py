"""Parquet data sets: folders of files, with a folder per relation where they are written here.

`out/relation=bornIn/part-0.parquet` holds the columns head and tail, and its folder says the relation, as Spark,
DuckDB, Arrow and Hive have it. Characters that file systems or these readers dislike are written as %XX. A data set is
written under a temporary name and renamed, so it is complete or absent.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
from collections import OrderedDict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import flush_to_disk, full_disk_told, made_directory
from reshuffle.kg.io.folders import exchanged, folder_aside
from reshuffle.kg.io.tables import SCHEMA
from reshuffle.locks import is_abandoned, is_own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_PARTITION = "relation="
_PLAIN = re.compile(r"[A-Za-z0-9_.,@$~!()+-]|[^\x00-\x7f]")
_LONGEST = 255  # bytes of a file's name
_MOST_OPEN = 128  # files that are written at once


def is_data_set(path: str | os.PathLike[str]) -> bool:
    """Does the name stand for a data set, that is, does it end in a slash, or is it a folder?"""
    return os.fspath(path).endswith(("/", os.sep)) or Path(path).is_dir()


def folder_of(relation: str) -> str:
    """The name of the folder of a relation.

    >>> folder_of("bornIn"), folder_of("/film/genre")
    ('relation=bornIn', 'relation=%2Ffilm%2Fgenre')
    """
    escaped = "".join(letter if _PLAIN.fullmatch(letter) else f"%{ord(letter):02X}" for letter in relation)
    return _PARTITION + escaped


def relation_of(folder: str) -> str:
    """The relation of a folder, written by any program.

    >>> relation_of("relation=%2Ffilm%2Fgenre")
    '/film/genre'
    """
    return unquote(folder.removeprefix(_PARTITION))


def check_folders(relations: Iterable[str], path: str) -> None:
    """Refuse relations whose names are too long for a folder, before any work is done."""
    for relation in relations:
        if len(folder_of(relation).encode()) > _LONGEST:
            raise InputError(
                f"the relation '{relation[:40]}...' is too long for the name of a folder",
                place=Place(path),
                hint="write one file: a name that ends in .parquet",
            )


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """The Parquet files of a data set, in order; of a file the file itself."""
    root = Path(path)
    if root.is_file():
        return [root]
    found = sorted(file for file in root.rglob("*.parquet") if not is_hidden(file.relative_to(root)))
    if not found:
        raise InputError(
            "found no Parquet file in this folder",
            place=Place(os.fspath(path)),
            hint="name a folder that has some",
        )
    return found


def is_hidden(path: Path) -> bool:
    """Is it a file that data sets do not count, by its name or that of a folder, such as the work of a run?"""
    return any(part.startswith((".", "_")) for part in path.parts)


@contextmanager
def written_folder(path: str | os.PathLike[str], *, aside: Path | None = None) -> Iterator[Path]:
    """A folder to write to; it becomes `path` at the end, and vanishes if anything fails, unless it is one of yours.

    A data set that was there before is replaced; another folder with something in it is refused.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out"
    >>> with written_folder(target) as aside:
    ...     _ = (aside / "part-0.parquet").write_text("...")
    >>> [file.name for file in target.parent.rglob("*")]
    ['out', 'part-0.parquet']
    """
    target = Path(os.path.realpath(path))
    check_folder_writable(path)
    with full_disk_told(path):
        _put_back(target)
        if aside is not None:
            yield made_directory(aside)
            _put_in_place(aside, target)
            return
        with folder_aside(target, may_go=_may_be_replaced) as folder:
            yield folder
            _put_in_place(folder, target)


def _put_back(target: Path) -> None:
    """Give a data set its name again if a process was killed between the two renames that replace it."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part\.old")
    for old in target.parent.glob(f".{glob.escape(target.name)}.*.part.old"):
        if not name.fullmatch(old.name) or old.is_symlink() or not is_own(old) or not _may_be_replaced(old):
            continue
        aside = old.with_suffix("")
        if aside.exists() and not is_abandoned(aside):  # somebody is at it
            continue
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(target)


def keep_only(folder: Path, files: Collection[Path]) -> None:
    """Remove all other files of a folder of ours, and the folders that are empty then."""
    for found in sorted(folder.rglob("*"), reverse=True):  # what lies in a folder comes before it
        if found.is_dir() and not found.is_symlink():
            if not any(found.iterdir()):
                found.rmdir()
        elif found not in files:
            found.unlink()


def emptied(folder: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    return made_directory(folder)


def _put_in_place(aside: Path, target: Path) -> None:
    """Give the new folder its name; what was there before goes.

    Where the system can exchange two names, a kill leaves the old data set or the new one. Elsewhere the old one moves
    away first; after a kill at that moment the next run gives it its name back.
    """
    if not target.exists():
        aside.rename(target)
    elif exchanged(aside, target):
        shutil.rmtree(aside, ignore_errors=True)
    else:
        old = target.with_name(f"{_part_name(aside, target)}.old")
        target.rename(old)
        try:
            aside.rename(target)
        except OSError:
            old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    flush_to_disk(target.parent)


def _part_name(aside: Path, target: Path) -> str:
    """The name of the folder aside, or one like it where the folder lies elsewhere."""
    beside = aside.parent == target.parent
    return aside.name if beside else f".{target.name}.{secrets.token_hex(4)}.part"


def check_folder_writable(path: str | os.PathLike[str]) -> None:
    """Can a data set be written there? To be asked before work whose result would be lost otherwise."""
    target, place = Path(os.path.realpath(path)), Place(os.fspath(path))
    if target.is_file():
        raise InputError("found a file, expected a folder to write", place=place, hint="name another folder")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise InputError(
            f"cannot be written: '{target.parent}' does not exist, or may not be written to",
            place=place,
            hint="make the directory first, or name another",
        )
    if target.is_dir() and not _may_be_replaced(target):
        raise InputError(
            "the folder contains more than a Parquet data set",
            place=place,
            hint="name a new folder, or empty this one",
        )


def _may_be_replaced(folder: Path) -> bool:
    """Is everything in the folder part of a data set?"""
    return all(
        file.suffix in (".parquet", ".crc") or file.name == "_SUCCESS" or file.is_dir()
        for file in folder.rglob("*")
    )


class RelationFolders:
    """Writes blocks of named triples to the folders of their relations; few files are open at a time."""

    def __init__(self, folder: Path, *, name: str = "part") -> None:
        self._folder, self._name = folder, name
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._parts: dict[str, int] = {}
        self.files: list[Path] = []

    def __enter__(self) -> RelationFolders:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a block of the columns head, relation and tail."""
        encoded = batch.column("relation").dictionary_encode()
        order = np.argsort(encoded.indices.to_numpy(zero_copy_only=False), kind="stable")
        counts = np.bincount(
            encoded.indices.to_numpy(zero_copy_only=False), minlength=len(encoded.dictionary)
        )
        start = 0
        for relation, count in zip(encoded.dictionary.to_pylist(), counts.tolist(), strict=True):
            rows = pa.array(order[start : start + count])
            self.write_ends(relation, batch.column("head").take(rows), batch.column("tail").take(rows))
            start += count

    def write_ends(self, relation: str, heads: pa.Array, tails: pa.Array) -> None:
        """Write pairs of one relation; the columns may be dictionaries."""
        writer = self._open.pop(relation, None) or self._opened(relation, heads.type, tails.type)
        self._open[relation] = writer
        writer.write_table(pa.table({"head": heads, "tail": tails}))

    def _opened(self, relation: str, *types: pa.DataType) -> Any:
        if len(self._open) >= _MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        number = self._parts[relation] = self._parts.get(relation, -1) + 1
        folder = self._folder / folder_of(relation)
        folder.mkdir(exist_ok=True)
        self.files.append(folder / f"{self._name}-{number}.parquet")
        return parquet_writer(self.files[-1], pa.schema(zip(("head", "tail"), types, strict=True)))


def write_data_set(batches: Iterable[pa.RecordBatch], path: str | os.PathLike[str]) -> None:
    """Write blocks of named triples, whole or not at all."""
    with written_folder(path) as aside, RelationFolders(aside) as folders:
        for batch in batches:
            folders.write(batch)


def parquet_writer(path: Path, schema: pa.Schema = SCHEMA) -> Any:
    """A Parquet file that is being written; dictionaries come back as text."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

    return pq.ParquetWriter(path, schema, store_schema=False, compression="zstd", compression_level=1)


def named(ids: np.ndarray[Any, np.dtype[np.int32]], names: pa.Array) -> pa.Array:
    """The names of ids as a dictionary, in which Parquet takes them several times faster than one by one."""
    seen = np.zeros(len(names), dtype=np.bool_)
    seen[ids] = True
    used = np.flatnonzero(seen)
    place = np.empty(len(names), dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place[ids]), names.take(pa.array(used)))
