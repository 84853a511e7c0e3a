"""Least squares of fewer rows than columns by scikit-learn's LinearRegression and by
Tributary, on the same rows of float8 and in turn: normal numbers, and rows that depend
linearly on others. Tributary takes the whole statement, of a connection that is there, the
peer fit on arrays in memory. Processor time is of the server's process, where its --pid is
given, and of this one.

    sklearn_wide.py --dsn postgres://… [--pid PID] [--runs 5] [--shapes 500x1500,1000x1590]

Needs `pip install psycopg scikit-learn`."""
import argparse
import os
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--pid", type=int, help="the server's process")
p.add_argument("--shapes", default="200x1500,500x1500,1000x1590,1500x1590,500x1500x50", help="rows x columns x rank")
p.add_argument("--runs", type=int, default=5)
p.add_argument("--threads", type=int, default=2)
a = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(a.threads)  # read when NumPy is imported

import numpy as np
import psycopg
import sklearn
from sklearn.linear_model import LinearRegression

connection = psycopg.connect(a.dsn, autocommit=True)
# A dataset that is kept would have the next run read nothing.
connection.execute("set tributary.keep_datasets = off")


def processor():
    if a.pid is None:
        return float("nan")
    with open(f"/proc/{a.pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def least(runs, clock, f):
    """The least wall and processor seconds of hot runs."""
    took = []
    for _ in range(runs + 1):
        wall, cpu = time.perf_counter(), clock()
        f()
        took.append((time.perf_counter() - wall, clock() - cpu))
    return [min(v) for v in zip(*took[1:])]


print(f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, {a.threads} threads; least of {a.runs} hot runs, seconds: wall, processor")
print("| rows x columns x rank | Tributary | | scikit-learn | | weights' relative difference |\n|---|---:|---:|---:|---:|---:|")
for shape in a.shapes.split(","):
    n, d, *rank = map(int, shape.split("x"))
    r = np.random.default_rng(1)
    x = r.standard_normal((n, rank[0])) @ r.standard_normal((rank[0], d)) if rank else r.standard_normal((n, d))
    y = x[:, :20] @ r.standard_normal(20) + r.standard_normal(n) + 3
    connection.execute("drop table if exists bench_few")
    connection.execute(f"create table bench_few ({', '.join(f'x{j} float8' for j in range(d))}, y float8)")
    with connection.cursor().copy("copy bench_few from stdin (format csv)") as copy:
        for row, target in zip(x, y):
            copy.write(",".join(map(repr, row.tolist())) + f",{float(target)!r}\n")
    model = LinearRegression()
    peer = least(a.runs, time.process_time, lambda: model.fit(x, y))
    ours = least(a.runs, processor, lambda: connection.execute("train or replace model bench_few using linear_regression predict y with (standardize = false) as select * from bench_few"))
    weights = dict(connection.execute("select feature, weight from ml.weights('bench_few')").fetchall())
    coef = np.array([weights[f"x{j}"] for j in range(d)])
    error = np.linalg.norm(coef - model.coef_) / np.linalg.norm(model.coef_)
    print(f"| {shape} | {ours[0]:.3f} | {ours[1]:.3f} | {peer[0]:.3f} | {peer[1]:.3f} | {error:.1e} |", flush=True)
