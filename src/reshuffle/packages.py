"""Optional packages: loaded when first used, or one error that names the extra which brings them.

`EXTRAS` is the one place that knows which extra of `pyproject.toml` a package belongs to.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reshuffle.errors import MissingPackageError, install_line

EXTRAS = {
    "torch": "learn",
    "safetensors": "learn",
    "tensorboard": "learn",
    "pyoxigraph": "rdf",
    "starlette": "explore",
    "uvicorn": "explore",
    "duckdb": "scale",
    "psutil": "scale",
    "pyspark": "scale",
    "pandas": "neighbours",
    "polars": "neighbours",
    "networkx": "neighbours",
    "rdflib": "neighbours",
    "torch_geometric": "neighbours",
    "pykeen": "neighbours",
    "matplotlib": "docs",
}


def package(module: str, *, extra: str | None = None) -> Any:
    """The module of a package that may not be installed; `extra` where another one than that of `EXTRAS` brings it.

    >>> package("no_such_package", extra="learn")
    Traceback (most recent call last):
      ...
    reshuffle.errors.MissingPackageError: this needs no_such_package, which is not installed
      hint: in a checkout of reshuffle: pip install -e '.[learn]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module, extra=extra) from error


def require(*names: str) -> None:
    """Raise `MissingPackageError` for the first of some packages that is not installed; none is loaded."""
    for name in names:
        if not is_installed(name):
            raise missing(name)


def is_installed(name: str) -> bool:
    """Could the package be loaded?"""
    return find_spec(name) is not None


def missing(module: str, *, extra: str | None = None) -> MissingPackageError:
    """The error for a package that is not installed."""
    name = module.partition(".")[0]
    return MissingPackageError(name, extra=extra or EXTRAS[name])


def how_to_install(name: str) -> str:
    """The command that installs a package, for errors of their own wording."""
    return install_line(EXTRAS[name])
