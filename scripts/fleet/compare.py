"""Runs all questions on several engines: the rows must be the same, and those that truth.json tells.

usage: compare.py HEAPLAPSE DIR [ENGINE…]     engines: duckdb chdb spark (default: all that are installed)

Spark runs as local-cluster[2,1,1024]: two executors, as processes.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

QUESTIONS = ["leaks", "first-bad-build", "blast-radius", "memory-limit", "only-with", "build-against-previous", "outliers",
             "new-known-fixed", "coverage"]
# The columns of an answer that the truth has.
COLUMNS = {
    "leaks": ["service", "site_key"], "first-bad-build": ["service", "site_key", "first_bad_build"],
    "blast-radius": ["service", "site_key"], "memory-limit": ["service", "host"],
    "only-with": ["service", "site_key", "label_name", "label_value"], "build-against-previous": ["service", "site_key"],
    "outliers": ["service", "host", "site_key"], "new-known-fixed": ["state", "service", "site_key"],
    "coverage": ["service", "hosts_missing", "periods"],
}


def text(heaplapse: str, question: str, engine: str, folder: str) -> list[str]:
    out = subprocess.run([heaplapse, "fleet", "query", question, folder, "--print", engine], check=True, capture_output=True, text=True)
    lines = [line for line in out.stdout.splitlines() if not line.startswith("--")]
    return [s for s in (part.strip() for part in "\n".join(lines).split(";")) if s]


def value(v):
    """A value in a form that all engines share: numbers without the type of the engine."""
    if v is None or isinstance(v, str):
        return v
    return round(float(v), 6) if isinstance(v, float) or not float(v).is_integer() else int(v)


def duckdb(statements: list[str]):
    import duckdb
    db = duckdb.connect()
    db.execute("SET threads = 2")
    db.execute("SET memory_limit = '4GB'")
    for s in statements[:-1]:
        db.execute(s)
    r = db.execute(statements[-1])
    return [c[0] for c in r.description], r.fetchall()


def chdb(statements: list[str]):
    from chdb import session
    if not hasattr(chdb, "session"):
        chdb.session = session.Session()
    for s in statements[:-1]:
        chdb.session.query(s)
    out = json.loads(str(chdb.session.query(statements[-1], "JSONCompact")))
    return [c["name"] for c in out["meta"]], [
        [int(v) if isinstance(v, str) and "Int" in c["type"] else v for v, c in zip(row, out["meta"])] for row in out["data"]]


def spark(statements: list[str]):
    from pyspark.sql import SparkSession
    if not hasattr(spark, "session"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark.session = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
                         .config("spark.sql.shuffle.partitions", "8").getOrCreate())
        spark.session.sparkContext.setLogLevel("ERROR")
    for s in statements[:-1]:
        spark.session.sql(s)
    frame = spark.session.sql(statements[-1])
    return frame.columns, [list(row) for row in frame.collect()]


ENGINES = {"duckdb": (duckdb, "duckdb", "duckdb"), "chdb": (chdb, "clickhouse", "chdb"), "spark": (spark, "spark", "pyspark")}


def main() -> int:
    heaplapse, folder = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve())
    engines = sys.argv[3:] or [name for name, (_, _, module) in ENGINES.items() if importlib.util.find_spec(module)]
    truth = pathlib.Path(folder, "truth.json")
    expected = json.loads(truth.read_text()) if truth.exists() else {}
    failed = 0
    for question in QUESTIONS:
        answers, took = {}, []
        for name in engines:
            run, dialect, _ = ENGINES[name]
            statements = text(heaplapse, question, dialect, folder)
            begin = time.monotonic()
            columns, rows = run(statements)
            took.append(f"{name} {time.monotonic() - begin:.2f} s")
            answers[name] = columns, sorted(([value(v) for v in row] for row in rows), key=repr)
        first = answers[engines[0]]
        bad = [name for name in engines if answers[name] != first]
        verdict = "the same rows" if not bad else f"DIFFERENT ROWS: {', '.join(bad)}"
        if question in expected:
            columns, rows = first
            places = [columns.index(c) for c in COLUMNS[question]]
            got = {json.dumps([row[p] for p in places]) for row in rows}
            want = {json.dumps(row) for row in expected[question]}
            verdict += f"; planted {len(want)}, found {len(got & want)}, false {len(got - want)}"
            failed += got != want
            for row in sorted(got ^ want)[:3]:
                verdict += f"\n    {'false' if row in got else 'missing'} {row}"
        failed += bool(bad)
        print(f"{question:23} {len(first[1]):5} rows  {verdict}  ({', '.join(took)})", flush=True)
        for name in bad:
            print(f"    {engines[0]}: {first[0]} {first[1][:2]}\n    {name}: {answers[name][0]} {answers[name][1][:2]}")
    if hasattr(spark, "session"):
        spark.session.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
