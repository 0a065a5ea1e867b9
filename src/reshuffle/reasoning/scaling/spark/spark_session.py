"""A Spark session: the user's own, or one that is started here and stopped again."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.reasoning.scaling.engine_interface import Options

LOCAL = "local[*]"
_PYTHON = "PYSPARK_PYTHON"  # the Python of workers
_PASSED_ON = (
    "PYTHONPATH",
    "NUMBA_CACHE_DIR",
    "PATH",
)  # of the environment, to workers that are started for us


@contextmanager
def spark_session(options: Options) -> Iterator[Any]:
    """The session of the options, which stays as it is, or a new one."""
    try:
        pyspark = import_module("pyspark.sql")
    except ImportError as error:
        raise MissingPackageError("pyspark", extra="scale") from error
    if options.session is not None:
        yield options.session
        return
    _check_java()
    session = _started(pyspark.SparkSession.builder, options)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """PySpark warns of new versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and (home is None or shutil.which("java", path=f"{home}/bin") is None):
        raise InputError(
            "Spark needs Java 17 or newer, and there is none",
            hint="on Debian and Ubuntu: apt install openjdk-17-jre-headless; elsewhere set JAVA_HOME",
        )


@contextmanager
def _python_of_workers() -> Iterator[None]:
    """Without a word on it workers take the first `python3` of the path, which may lack this package.

    PySpark asks the environment when a session starts, and no setting of the session.
    """
    if _PYTHON in os.environ:
        yield
        return
    os.environ[_PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[_PYTHON]


def _started(builder: Any, options: Options) -> Any:
    master = options.master or LOCAL
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.skewJoin.enabled": "true",
        "spark.executorEnv.NUMBA_NUM_THREADS": "1",
    }
    settings |= {f"spark.executorEnv.{name}": os.environ[name] for name in _PASSED_ON if name in os.environ}
    if master.startswith("local"):
        settings["spark.driver.host"] = "127.0.0.1"
    if options.memory is not None:
        settings["spark.driver.memory"] = settings["spark.executor.memory"] = (
            f"{(options.bytes or 0) // 2**20}m"
        )
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with without_pandas_warning(), _python_of_workers():
            return builder.master(master).appName("reshuffle").getOrCreate()
    except Exception as error:
        raise InputError(
            f"Spark did not start: {str(error).splitlines()[0]}",
            hint=f"check that the master {master} can be reached, and that Java is 17 or newer",
        ) from error
