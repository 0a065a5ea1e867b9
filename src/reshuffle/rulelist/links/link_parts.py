"""Searches for missing links that go on where an earlier one was cut off, from what it left beside its output."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import is_device, written_whole
from reshuffle.kg.unfinished_work import folder_beside
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.links.rule_links import Links, best_links
from reshuffle.rulelist.spark.links_on_spark import digest_of

if TYPE_CHECKING:
    from reshuffle.kg.unfinished_work import WorkFolder
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.links.rule_links import LinkQuestions, Wanted
    from reshuffle.rulelist.rule_answers import RulesOnGraph

_FILE = "links.arrow"
_EVERY = 2.0  # seconds between two times that the best links so far are stored


@dataclass
class LinkSearch:
    """One search; `kept` are the best links of the first `done` blocks."""

    state: RulesOnGraph
    asked: LinkQuestions
    wanted: Wanted
    kept: Links = field(default_factory=Links.none)
    done: int = 0

    def run(
        self,
        *,
        beside: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Links:
        """All of it. With an output, what is done lies beside it, and a search for the same goes on from there.

        With `resume` it is an error that nothing lies there.
        """
        if beside is None or is_device(Path(os.path.realpath(beside))):
            return self._run(None, progress)
        with folder_beside(beside, digest_of(self.state, self.asked, self.wanted), notes=notes) as work:
            self._begin(work)
            if resume and not self.done:
                raise InputError(
                    "there is no unfinished search for these links to go on from",
                    place=Place(os.fspath(beside)),
                    hint="leave out --resume; the model, the facts and the options must be those of the unfinished one",
                )
            return self._run(work, progress)

    def so_far(self) -> str:
        """How much of the graph is done, in words."""
        total = len(self.asked.blocks(self.state))
        return f"{self.done / max(1, total):.0%} of the entities"

    def _run(self, work: WorkFolder | None, progress: Progress) -> Links:
        begun, first = time.monotonic(), self.done

        def keep(kept: Links, done: int) -> None:
            nonlocal begun
            self.kept, self.done = kept, first + done
            if work is not None and time.monotonic() - begun > _EVERY:
                self._store(work)
                begun = time.monotonic()

        options = {"share": slice(first, None), "begun": self.kept, "keep": keep, "progress": progress}
        try:
            return best_links(self.state, self.asked, self.wanted, **options)  # type: ignore[arg-type]
        except BaseException:
            if work is not None and self.done > first:
                self._store(work)
            raise

    def _begin(self, work: WorkFolder) -> None:
        if not (file := work.path / _FILE).exists():
            return
        with pa.memory_map(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
        columns = [np.array(table.column(name)) for name in table.column_names]
        self.kept = Links(np.column_stack(columns[:3]), columns[3])
        self.done = int(table.schema.metadata[b"done"])

    def _store(self, work: WorkFolder) -> None:
        names = ["relation", "head", "tail", "value"]
        table = pa.table([*self.kept.ids.T, self.kept.values], names=names)
        table = table.replace_schema_metadata({"done": str(self.done)})
        with written_whole(work.path / _FILE) as aside, pa.ipc.new_file(str(aside), table.schema) as writer:
            writer.write_table(table)
        work.keep()
