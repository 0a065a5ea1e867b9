"""Use the user's Spark session, or start and stop one."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, did_you_mean
from reshuffle.packages import package

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_MEMORY, SPARK = "memory", "spark"
LOCAL = "local[*]"
_PYTHON = "PYSPARK_PYTHON"  # the Python of workers
_PASSED_ON = (
    "PYTHONPATH",
    "NUMBA_CACHE_DIR",
    "PATH",
)  # of the environment, to workers that are started for us


@dataclass(frozen=True)
class Spark:
    """A session, or the master for which one is started, and how work is cut into shares."""

    session: Any = None
    master: str | None = None
    partitions: int | None = None
    """Shares of the work."""
    memory: int | None = None
    """Bytes of the driver and of executors that are started."""
    folder: str | os.PathLike[str] | None = None
    """Seen by all workers: graph, model and results lie there meanwhile. By default where temporary files lie."""
    beside: str | os.PathLike[str] | None = None
    """An output. What is done lies beside it meanwhile, and the same work goes on from there after a kill."""

    def __post_init__(self) -> None:
        if self.partitions is not None and self.partitions < 1:
            raise InputError(f"{self.partitions} partitions", hint="give 1 or more")


def spark_of(engine: str, **options: Any) -> Spark | None:
    """Spark with the options that are given; None for the memory of this process, which takes none of them."""
    if engine == SPARK:
        return Spark(**options)
    if engine != IN_MEMORY:
        raise InputError(
            f"unknown engine '{engine}'{did_you_mean(engine, (IN_MEMORY, SPARK))}",
            hint="the engines of models and of the search for rules are memory and spark",
        )
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} is for Spark", hint="leave it out, or take the engine spark")
    return None


@contextmanager
def spark_session(spark: Spark) -> Iterator[Any]:
    """The session that is given, which stays as it is, or a new one."""
    pyspark = package("pyspark.sql")
    if spark.session is not None:
        yield spark.session
        return
    _check_java()
    session = _started(pyspark.SparkSession.builder, spark)
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
    home = os.environ.get("JAVA_HOME") or None
    if shutil.which("java") is None and (home is None or shutil.which("java", path=f"{home}/bin") is None):
        raise InputError(
            "Spark needs Java 17 or newer, but found none",
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


def _started(builder: Any, spark: Spark) -> Any:
    master = spark.master or LOCAL
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
    if spark.memory is not None:
        memory = f"{spark.memory // 2**20}m"
        settings["spark.driver.memory"] = settings["spark.executor.memory"] = memory
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
