"""Runs the 43 queries of ClickBench in Hyper, Tableau's engine.

    python hyper_peer.py --hits FILE [--dir DIR] [--runs 5] [--json FILE]

The queries are the lines of queries.sql, and the table is made by schema.sql, beside the file
or in --dir. Hyper uses all cores. Needs `pip install tableauhyperapi`.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

from tableauhyperapi import Connection, CreateMode, HyperException, HyperProcess, Telemetry, __version__, escape_string_literal


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--hits", required=True, help="Parquet file of the table")
    args.add_argument("--dir", help="directory of queries.sql and schema.sql (default: the file's)")
    args.add_argument("--runs", type=int, default=5)
    args.add_argument("--json", help="file for the results")
    o = args.parse_args()
    folder = pathlib.Path(o.dir or pathlib.Path(o.hits).parent)

    results = []
    with (
        tempfile.TemporaryDirectory() as work,
        HyperProcess(Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters={"log_dir": work, "default_database_version": "4"}) as hyper,
        Connection(hyper.endpoint, str(pathlib.Path(work, "hits.hyper")), CreateMode.CREATE) as db,
    ):
        start = time.perf_counter()
        db.execute_command((folder / "schema.sql").read_text())
        db.execute_command(f"INSERT INTO hits SELECT * FROM external({escape_string_literal(str(pathlib.Path(o.hits).resolve()))}, FORMAT => 'parquet')")  # by place: names differ in case
        print(f"Hyper {__version__}, loaded in {time.perf_counter() - start:.2f} s")
        print("\n| query | cold s | min s | median s | max s | rows |\n|---|---:|---:|---:|---:|---:|")
        for n, sql in enumerate((folder / "queries.sql").read_text().strip().split("\n")):
            times = []
            try:
                for _ in range(o.runs + 1):
                    t = time.perf_counter()
                    rows = db.execute_list_query(sql.rstrip(";"))
                    times.append(time.perf_counter() - t)
            except HyperException as e:  # a spelling that it does not know
                print(f"| q{n:02d} | {e.main_message} |", flush=True)
                continue
            hot = times[1:]
            r = {"suite": "clickbench", "name": f"q{n:02d}", "cold": times[0], "min": min(hot), "median": statistics.median(hot), "max": max(hot), "rows": len(rows)}
            results.append(r)
            print(f"| {r['name']} | {r['cold']:.3f} | {r['min']:.3f} | {r['median']:.3f} | {r['max']:.3f} | {r['rows']} |", flush=True)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps({"server": f"Hyper {__version__}", "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
