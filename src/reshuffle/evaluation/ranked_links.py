"""Ranked answers, whatever ranked them: as a list of links, as a table, as text with the reasons below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from reshuffle.evaluation.questions import told_question
from reshuffle.kg import Triple
from reshuffle.kg.frames import ArrowFrames
from reshuffle.progress import SILENT
from reshuffle.results import Column, Table
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Progress
    from reshuffle.results import Explanation

NAMES = tuple(Column(name, "name") for name in Triple._fields)
KNOWN = Column("known", "truth", "", spell=lambda known: "known" if known else "")


class Link(Protocol):
    """A ranked triple."""

    @property
    def triple(self) -> Triple:
        """The triple."""
        ...

    @property
    def side(self) -> Side:
        """Which end was asked for: the two questions have scores of their own."""
        ...

    @property
    def known(self) -> bool:
        """Is it a fact?"""
        ...

    @property
    def score(self) -> float:
        """By which answers to one question are ranked."""
        ...

    def row(self) -> dict[str, Any]:
        """The values of one row of the table, by column."""
        ...

    def data(self) -> dict[str, Any]:
        """The same as plain data, with the side."""
        ...

    def reason_lines(self, most: int) -> list[str]:
        """Up to `most` reasons, as they are printed; none where nothing leads to it."""
        ...

    def reason_cells(self, most: int) -> list[str]:
        """Up to `most` reasons, each in one line of a table."""
        ...

    def reason_data(self, most: int) -> dict[str, Any]:
        """Up to `most` reasons as plain data, by the names that they have in JSON."""
        ...

    def explain(self, most: int = 3) -> Explanation:
        """What its score is made of, with the first `most` reasons in full."""
        ...


L_co = TypeVar("L_co", bound=Link, covariant=True)


@dataclass(frozen=True)
class Predictions(ArrowFrames, Generic[L_co]):
    """Links, best first. Prints as a table."""

    links: tuple[L_co, ...] = ()
    numbers: tuple[Column, ...] = ()
    """The columns between the names and `known`, in the order of files."""
    printed: tuple[str, ...] = ()
    """Those of them that the terminal shows, in its order."""
    several: bool = False
    """Are they links of several questions?"""
    complete: bool = True
    """False where an interrupt ended the search for them early."""
    unsupported: str = "nothing leads to it"
    """What is printed of a link without reasons."""
    held_back: int | None = None
    """How many better links would break a constraint; None where none was looked at."""

    def __len__(self) -> int:
        return len(self.links)

    def __iter__(self) -> Iterator[L_co]:
        return iter(self.links)

    def __getitem__(self, place: int) -> L_co:
        return self.links[place]

    def table(self, *, reasons: int = 0) -> Table:
        """The links as rows; with that number of reasons for each in a column `reasons`."""
        found = Table(
            (*NAMES, *self.numbers, KNOWN),
            self.rows,
            heading=counted(len(self), "prediction"),
            printed=(
                *self.printed,
                *Triple._fields,
                *(["known"] if any(link.known for link in self.links) else []),
            ),
            ranked=True,
            empty="no predictions",
        )
        if not reasons:
            return found
        return found.with_column(
            Column("reasons", "list"), lambda: (link.reason_cells(reasons) for link in self.links)
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per link, in order."""
        return [link.row() for link in self.links]

    def to_arrow(self) -> pa.Table:
        """An Arrow table: head, relation, tail, the scores, known."""
        return self.table().to_arrow()

    def write(self, path: str, *, reasons: int = 0) -> None:
        """The table as a file, in the format that the ending names; with that number of reasons for each link."""
        self.table(reasons=reasons).write(path)

    def to_dict(self, *, reasons: int = 0, progress: Progress = SILENT) -> dict[str, Any]:
        """Plain data; with that number of reasons for each."""
        data = []
        with progress("looking for reasons", total=len(self.links), unit="links") as report:
            for link in self.links:
                data.append(link.data() | (link.reason_data(reasons) if reasons else {}))
                report(1)
        return {"predictions": data} | ({} if self.held_back is None else {"held_back": self.held_back})

    def text(self, *, reasons: int, shown: Callable[[str], str] = str) -> str:
        """The table, followed by that number of reasons for each link; `shown` formats names."""
        lines = [self.table().text(shown=shown)]
        for place, link in enumerate(self.links if reasons else (), start=1):
            found = link.reason_lines(reasons)
            said = "" if found else f": {self.unsupported}"
            lines += ["", f"{place}. {' '.join(link.triple)}{said}", *found]
        return "\n".join([*lines, *told_question(self.links, several=self.several)])

    def __str__(self) -> str:
        return str(self.table())

    def shown(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rows, by what people read above the columns."""
        return self.table().first(most)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
