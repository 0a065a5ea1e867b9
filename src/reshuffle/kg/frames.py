"""Convert tables to data frame libraries through Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from reshuffle.packages import package, require

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class ArrowFrames(ABC):
    """For results with a method `to_arrow`: the same rows as a pandas and as a polars frame."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars frame."""
        return polars_frame(self.to_arrow())


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """The same rows as a pandas frame."""
    require("pandas")
    frame: pd.DataFrame = table.to_pandas()
    return frame


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """The same rows as a polars frame."""
    frame: pl.DataFrame = package("polars").DataFrame(table)
    return frame


class RowFrames(ArrowFrames):
    """For results with a method `rows`: the same rows as a table, by the columns of `schema` where it is not None."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The rows, by column."""

    def schema(self) -> pa.Schema | None:
        """The columns and their types; None where the values say them."""
        return None

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load

        return pa.Table.from_pylist(self.rows(), schema=self.schema())
