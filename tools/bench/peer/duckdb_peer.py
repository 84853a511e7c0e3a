"""Runs the TPC-H, TPC-DS, ClickBench, group-by and join questions of `tributary bench` in DuckDB.

    python duckdb_peer.py tpch    --csv DIR [--sf 1] [--answers DIR]
    python duckdb_peer.py tpcds   --tpcds DIR [--answers DIR]
    python duckdb_peer.py clickbench --hits FILE [--dir DIR] [--answers DIR]
    python duckdb_peer.py groupby [--rows 10000000] [--answers DIR]
    python duckdb_peer.py joins   [--rows 10000000] [--answers DIR]
    python duckdb_peer.py features [--rows 3000000] [--answers DIR]
    python duckdb_peer.py sql     --dir DIR [--rows N] [--answers DIR]

The queries are the files that the benchmark embeds; for ClickBench queries.sql beside
the file of its table, or in --dir; for TPC-DS those of its directory, which a DuckDB with the tpcds extension makes:

    python duckdb_peer.py tpcds-data --tpcds DIR [--sf 1]

The loads read files of a directory, TPC-H's and random numbers, which is made of TPC-H's csv
files, and are written to a database file that should not be there yet:

    tributary bench tpch --sf 1 --export DIR --load-only
    python duckdb_peer.py load-data --csv DIR
    python duckdb_peer.py loads     --csv DIR --db FILE

The answers are written as
csv for `tributary bench --check DIR`; a column whose name ends in ~ is
floating point. Needs `pip install duckdb`.
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import tempfile
import time

import duckdb

HERE = pathlib.Path(__file__).resolve().parent.parent
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def text(value):
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return repr(value)
    return re.sub(r"(:\d\d(?:\.\d+)?)\+00:00$", r"\1+00", str(value))  # a time with zone, as PostgreSQL writes it


def write_answer(path, description, rows):
    with open(path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow([name + ("~" if str(kind) in ("DOUBLE", "FLOAT") else "") for name, kind, *_ in description])
        out.writerows([text(v) for v in row] for row in rows)


def load_tpch(db, directory):
    # The benchmark's types, so that sums are exact decimals here too.
    for table in TABLES:
        path = str(pathlib.Path(directory, table + ".csv"))
        with open(path) as f:
            names = f.readline().strip().split(",")
        db.execute(f"CREATE TABLE {table} ({', '.join(f'{n} {column_type(n)}' for n in names)})")
        db.execute(f"COPY {table} FROM '{path}' (FORMAT csv, HEADER)")


def load_tpcds(db, directory):
    for path in sorted(pathlib.Path(directory).glob("*.*")):
        if path.suffix in (".parquet", ".csv"):
            db.execute(f"CREATE TABLE {path.stem} AS SELECT * FROM '{path}'")


def load_hits(db, path):
    # As the benchmark does: the published file has days, seconds and bytes.
    source = f"read_parquet('{path}', binary_as_string = true)"
    items = []
    for name, kind, *_ in db.execute(f"DESCRIBE SELECT * FROM {source}").fetchall():
        item, low = f'"{name}"', name.lower()
        if "INT" in kind and low.endswith("eventdate"):
            item = f"DATE '1970-01-01' + {item}::INTEGER"
        elif "INT" in kind and low.endswith("eventtime"):
            item = f"make_timestamp({item} * 1000000)"
        items.append(f"{item} AS {low}")
    db.execute(f"CREATE TABLE hits AS SELECT {', '.join(items)} FROM {source}")


def texts(folder, suite):
    """Names and texts of a folder's queries: the lines of queries.sql, counted from 0, else a query a file."""
    lines = folder / "queries.sql"
    if suite in ("sql", "clickbench") and lines.exists():
        for n, sql in enumerate(lines.read_text().strip().split("\n")):
            yield f"q{n:02d}", sql
        return
    for path in sorted(folder.glob("*.sql" if suite == "sql" else "*[0-9]*.sql")):
        if path.stem != "create":
            own = folder / "duckdb" / path.name  # where DuckDB has another spelling
            yield path.stem if suite in ("loads", "sql") else "q" + path.stem.lstrip("q"), (own if own.exists() else path).read_text()


def make_tpcds(db, directory, sf):
    queries = pathlib.Path(directory, "queries")
    queries.mkdir(parents=True, exist_ok=True)
    db.execute("LOAD tpcds")
    db.execute(f"CALL dsdgen(sf = {sf})")
    for (table,) in db.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'").fetchall():
        db.execute(f"COPY {table} TO '{pathlib.Path(directory, table)}.parquet' (FORMAT parquet)")
    for number, sql in db.execute("FROM tpcds_queries()").fetchall():
        pathlib.Path(queries, f"{number:02d}.sql").write_text(sql)


def make_loads(db, directory):
    load_tpch(db, directory)
    for table in TABLES:
        db.execute(f"COPY {table} TO '{pathlib.Path(directory, table)}.parquet' (FORMAT parquet)")
    for table, rows, columns in (("tall", 5_000_000, 20), ("wide", 200_000, 500)):
        items = ", ".join(f"CAST(random() + random() - 1 AS FLOAT) AS x{i}" for i in range(columns))
        db.execute(f"COPY (SELECT {items} FROM range({rows})) TO '{pathlib.Path(directory, table)}.parquet' (FORMAT parquet)")


def column_type(name):
    rest = name.split("_", 1)[1]
    if rest == "orderkey":
        return "BIGINT"
    if rest.endswith("key") or rest in ("size", "availqty", "linenumber", "shippriority"):
        return "INTEGER"
    if rest.endswith("date"):
        return "DATE"
    if rest in ("acctbal", "retailprice", "supplycost", "totalprice", "quantity", "extendedprice", "discount", "tax"):
        return "DECIMAL(15,2)"
    return "VARCHAR"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("suite", choices=["tpch", "tpcds", "tpcds-data", "load-data", "loads", "clickbench", "groupby", "joins", "features", "sql"])
    args.add_argument("--csv", help="directory of `tributary bench tpch --export`")
    args.add_argument("--tpcds", help="directory of TPC-DS's tables and queries")
    args.add_argument("--hits", help="file of ClickBench's table")
    args.add_argument("--dir", help="directory of the queries of sql, or of clickbench")
    args.add_argument("--sf", type=float, default=1)
    args.add_argument("--rows", type=int, default=10_000_000)
    args.add_argument("--runs", type=int, default=5)
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--queries", default="", help="numbers, separated by commas")
    args.add_argument("--answers", help="directory for the answers")
    args.add_argument("--json", help="file for the results")
    args.add_argument("--db", default=":memory:", help="database file (default: in memory)")
    args.add_argument("--memory", help="memory_limit, and a temporary directory beside")
    o = args.parse_args()

    db = duckdb.connect(o.db)
    if o.memory:
        db.execute(f"SET memory_limit = '{o.memory}'")
        db.execute(f"SET temp_directory = '{tempfile.mkdtemp()}'")
    db.execute(f"SET threads = {o.threads}")
    start = time.perf_counter()
    if o.suite == "tpcds-data":
        make_tpcds(db, o.tpcds, o.sf)
        return
    if o.suite == "load-data":
        make_loads(db, o.csv)
        return
    if o.suite == "loads":
        folder, replace = "loads", {":dir": o.csv}
    elif o.suite == "tpch":
        load_tpch(db, o.csv)
        folder, replace = "queries", {":fraction": f"{0.0001 / o.sf:.10f}"}
    elif o.suite == "tpcds":
        load_tpcds(db, o.tpcds)
        folder, replace = pathlib.Path(o.tpcds, "queries"), {}
    elif o.suite == "clickbench":
        load_hits(db, o.hits)
        folder, replace = pathlib.Path(o.dir or pathlib.Path(o.hits).parent).resolve(), {}
    else:
        folder, replace = pathlib.Path(o.dir).resolve() if o.suite == "sql" else HERE / o.suite, {}
        sizes = {":rows": o.rows, ":groups": o.rows // 100, ":users": o.rows // 50, ":medium": o.rows // 1000, ":small": o.rows // 1_000_000,
                 ":shift1": o.rows // 10_000_000, ":shift2": o.rows // 10_000, ":shift3": o.rows // 10}
        create = folder / "create.sql"
        sql = create.read_text() if create.exists() else ""
        for parameter, value in sizes.items():
            sql = re.sub(rf"(?<!:){parameter}\b", str(max(value, 1)), sql)  # not the type of ::smallint
        if sql:
            db.execute(sql)
    print(f"DuckDB {duckdb.__version__}, {o.threads} threads, loaded in {time.perf_counter() - start:.2f} s")
    if o.answers:
        pathlib.Path(o.answers).mkdir(parents=True, exist_ok=True)

    wanted = {int(q) for q in o.queries.split(",") if q}
    results = []
    print("\n| query | cold s | min s | median s | max s | cpu s | rows |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, sql in texts(HERE / folder, o.suite):  # an absolute folder stays what it is
        if wanted and int("".join(filter(str.isdigit, name))) not in wanted:
            continue
        for parameter, value in replace.items():
            sql = sql.replace(parameter, value)
        before, _, timed = sql.rpartition("-- timed\n")
        timed, _, kept = timed.partition("-- kept\n")  # what to ask of the tables that were written
        times, cpu = [], []
        for run in range(o.runs + 1):
            if before:
                db.execute(before)
            t, c = time.perf_counter(), time.process_time()
            try:
                answer = db.execute(timed)  # a statement a transaction
            except duckdb.Error as e:  # a spelling that it does not know
                print(f"| {name} | {str(e).splitlines()[0]} |", flush=True)
                break
            description, rows = answer.description, answer.fetchall()
            times.append(time.perf_counter() - t)
            cpu.append(time.process_time() - c)
            if run == 0 and o.answers and kept:
                answer = db.execute(kept)
                description = answer.description
                write_answer(pathlib.Path(o.answers, f"{o.suite}-{name}.csv"), description, answer.fetchall())
            elif run == 0 and o.answers and not before:
                write_answer(pathlib.Path(o.answers, f"{o.suite}-{name}.csv"), description, rows)
        if not times:
            continue
        hot = times[1:]
        r = {"suite": o.suite, "name": name, "cold": times[0], "min": min(hot), "median": statistics.median(hot), "max": max(hot),
             "cpu": statistics.median(cpu[1:]), "rows": len(rows)}
        results.append(r)
        print(f"| {r['name']} | {r['cold']:.3f} | {r['min']:.3f} | {r['median']:.3f} | {r['max']:.3f} | {r['cpu']:.2f} | {r['rows']} |", flush=True)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps({"server": f"DuckDB {duckdb.__version__}", "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
