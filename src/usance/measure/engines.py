"""Engines that compute metrics: DuckDB in this process, or Spark, by the same expressions.

An engine runs Ibis expressions over unbound tables and returns rows of whole numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from usance.base.errors import unknown
from usance.base.schemas import TYPES
from usance.base.tables import table
from usance.measure.duckdb_connection import shared_connection
from usance.measure.errors import EngineError
from usance.measure.inputs import Inputs, TableSource

ENGINES = ("duckdb", "spark")
SPARK_MASTER = "USANCE_SPARK_MASTER"
"""The variable that names a Spark master, such as `spark://host:7077`."""

_IBIS_TYPES = {
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f64": "float64", "day": "date",
    "moment": "timestamp('UTC')", "text": "string",
}  # fmt: skip
assert _IBIS_TYPES.keys() | {"inputs"} == TYPES.keys()


# Of the types that a column with a default can have.
_DUCKDB_TYPES = {"i8": "TINYINT", "i16": "SMALLINT", "i32": "INTEGER", "i64": "BIGINT"}
_SPARK_TYPES = {"i8": "tinyint", "i16": "smallint", "i32": "int", "i64": "bigint"}


class Engine(Protocol):
    """Runs an expression."""

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        """The rows of an expression, every number whole."""

    def materialised(self, name: str, expression: Any) -> Any:
        """An expression that others build on, computed once if the engine can."""

    def summed_by_month(
        self, name: str, expression: Any, months: tuple[int, int] | None = None
    ) -> Any:
        """An expression over one table that can be computed month by month and put together.

        Of a table with the column `month`, the first and the last month can be given. An engine may
        cache the result of a book's month for as long as the process lives.
        """


def unbound(name: str, amounts: Sequence[str] = ()) -> Any:
    """A declared table as an Ibis table without data, with some of its posting amounts."""
    import ibis

    columns = {
        column.name: _IBIS_TYPES[column.type]
        for column in table(name).with_amounts(list(amounts)).columns
        if column.type != "inputs" and not (column.optional and column.default is None)
    }
    return ibis.table(columns, name=name)


def open_engine(inputs: Inputs, engine: str = "duckdb") -> AbstractContextManager[Engine]:
    """An engine with these tables, to use inside a `with` block."""
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES, where="--engine")
    return _DuckDbEngine(inputs) if engine == "duckdb" else _SparkEngine(inputs)


_TABLES_READ = re.compile(r"\b(?:FROM|JOIN)\s+[\"`]?(\w+)")
"""The tables of a query as Ibis writes it."""
_MONTH_CACHE: dict[tuple[str, tuple[Path, ...]], pa.Table] = {}
"""Results by query and files of a book, which never change: their names have their digests."""


def _month_sums(inputs: Inputs, name: str, files: tuple[Path, ...], query: str) -> pa.Table:
    if (query, files) not in _MONTH_CACHE:
        with _DuckDbEngine(replace(inputs, tables={name: files})) as engine:
            _MONTH_CACHE[query, files] = engine.table(query)
    return _MONTH_CACHE[query, files]


def _check_tables_read(inputs: Inputs, query: str) -> None:
    """Refuse damaged files of the tables a query reads."""
    inputs.check(sorted(inputs.tables.keys() & set(_TABLES_READ.findall(query))))


@contextmanager
def _naming_damaged_files(inputs: Inputs, name: str) -> Iterator[None]:
    """Name the damaged file if opening a table fails inside the block because of one."""
    try:
        yield
    except Exception:
        inputs.check([name])
        raise


class _DuckDbEngine:
    def __init__(self, inputs: Inputs) -> None:
        self._inputs, self._registered, self._stack = inputs, set[str](), ExitStack()

    def _read(self, name: str, given: Sequence[Path], late: dict[str, tuple[str, int]]) -> None:
        import duckdb

        paths = [str(path) for path in given]
        files = self._engine.read_parquet(paths, union_by_name=bool(late))
        shown = [duckdb.ColumnExpression(each) for each in files.columns if each not in late]
        for column, (kind, default) in late.items():
            value: Any = duckdb.ConstantExpression(default)
            if column in files.columns:
                value = duckdb.CoalesceOperator(duckdb.ColumnExpression(column), value)
            shown.append(value.cast(_DUCKDB_TYPES[kind]).alias(column))
        self._engine.register(name, files.select(*shown) if late else files)

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        import ibis

        query = str(ibis.to_sql(expression, dialect="duckdb"))
        # Through Arrow: moments would otherwise need a library of time zones that nobody has.
        found = self.table(query)
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def table(self, query: str) -> pa.Table:
        _check_tables_read(self._inputs, query)
        return self._engine.sql(query).to_arrow_table()

    def materialised(self, name: str, expression: Any) -> Any:
        import ibis

        own = f"materialised_{name}"
        if own not in self._registered:
            self._engine.register(own, self.table(str(ibis.to_sql(expression, dialect="duckdb"))))
            self._registered.add(own)
        return ibis.table(expression.schema(), name=own)

    def summed_by_month(
        self, name: str, expression: Any, months: tuple[int, int] | None = None
    ) -> Any:
        import ibis

        by_month = self._inputs.by_month.get(name, {})
        wanted = [
            files
            for month, files in sorted(by_month.items())
            if months is None or months[0] <= month <= months[1]
        ]
        if not wanted:
            return expression
        query = str(ibis.to_sql(expression, dialect="duckdb"))
        own = f"summed_{sha256(f'{query} {months}'.encode()).hexdigest()}"
        if own not in self._registered:
            parts = [_month_sums(self._inputs, name, each, query) for each in wanted]
            self._engine.register(own, pa.concat_tables(parts))
            self._registered.add(own)
        return ibis.table(expression.schema(), name=own)

    def __enter__(self) -> _DuckDbEngine:
        with ExitStack() as stack:
            self._engine = stack.enter_context(shared_connection())
            for name, given in self._inputs.tables.items():
                if isinstance(given, pa.Table):
                    self._engine.register(name, given)
                    continue
                with _naming_damaged_files(self._inputs, name):
                    self._read(name, given, _columns_added_later(name, given))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stack.close()


class _SparkEngine:
    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._stack = ExitStack()

    def __enter__(self) -> _SparkEngine:
        self._session = spark_session()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        for name, given in self._inputs.tables.items():
            with _naming_damaged_files(self._inputs, name):
                self._open(name, given, folder)
        return self

    def _open(self, name: str, given: TableSource, folder: Path) -> None:
        paths = [str(path) for path in given] if not isinstance(given, pa.Table) else []
        if isinstance(given, pa.Table):
            paths = [str(folder / f"{name}.parquet")]
            pq.write_table(given, paths[0])
        late = {} if isinstance(given, pa.Table) else _columns_added_later(name, given)
        reader = self._session.read.option("mergeSchema", bool(late))
        if not late:
            # Said beforehand: to look for it in the files is a job of Spark's for each table.
            reader = reader.schema(_spark_schema(paths[0]))
        self._filled(reader.parquet(*paths), late).createOrReplaceTempView(name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for name in self._inputs.tables:
            self._session.catalog.dropTempView(name)
        self._stack.close()

    @staticmethod
    def _filled(frame: Any, late: dict[str, tuple[str, int]]) -> Any:
        from pyspark.sql import functions as f

        for column, (kind, default) in late.items():
            given = f.lit(default)
            value = f.coalesce(f.col(column), given) if column in frame.columns else given
            frame = frame.withColumn(column, value.cast(_SPARK_TYPES[kind]))
        return frame

    def materialised(self, _name: str, expression: Any) -> Any:
        return expression

    def summed_by_month(
        self, _name: str, expression: Any, _months: tuple[int, int] | None = None
    ) -> Any:
        return expression

    def rows(self, expression: Any) -> list[tuple[Any, ...]]:
        import ibis

        query = str(ibis.to_sql(expression, dialect="pyspark"))
        _check_tables_read(self._inputs, query)
        return [tuple(row) for row in self._session.sql(query).collect()]


def _columns_added_later(name: str, files: Sequence[Path]) -> dict[str, tuple[str, int]]:
    """Columns added to a table after one of its files was written: type and default."""
    added = {c.name: (c.type, c.default) for c in table(name).columns if c.default is not None}
    if not added:
        return {}
    have = [set(pq.read_schema(path).names) for path in files]
    return {
        column: (kind, default)
        for column, (kind, default) in added.items()
        if not all(column in names for names in have)
    }


def _spark_schema(file: str) -> Any:
    with without_pandas():
        from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pq.read_schema(file))


def check_spark() -> None:
    """Raise an error if Spark or Java is not installed."""
    if shutil.which("java") is None:
        fix = "Install Java 17 or newer (openjdk-17-jre-headless), or use another --engine"
        raise EngineError("Spark needs Java, which is not here", where="--engine", fix=fix)
    if find_spec("pyspark") is None:
        fix = "Install usance with its extra: usance[spark]"
        raise EngineError("Spark is not installed", where="--engine", fix=fix)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Silence Spark's warning about newer versions of pandas inside the block."""
    with warnings.catch_warnings():
        # No pandas is used here, but Spark looks for it.
        warnings.simplefilter("ignore", FutureWarning)
        yield


def spark_session(cores: int = 2) -> Any:
    """The Spark session of this process, made at the first call.

    It has so many cores of this machine, or runs where `USANCE_SPARK_MASTER` says.
    """
    check_spark()
    with without_pandas():
        from pyspark.sql import SparkSession
    # Workers get the Python that runs here, unless a cluster has its own.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        # By the size of its files a table seems small: users take a byte each, in memory a hundred.
        "spark.sql.autoBroadcastJoinThreshold": "256k",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Spark has a worker for each core: threads inside one would only get in each other's way.
        "spark.executorEnv.USANCE_THREADS": "1",
        "spark.executorEnv.PYTHONWARNINGS": "ignore::FutureWarning",
    }
    master = os.environ.get(SPARK_MASTER, f"local[{cores}]")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("usance")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
