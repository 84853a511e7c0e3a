"""k-means and PCA by scikit-learn and by Tributary, on the same rows of float4 and in
turn: k-means of 2,000,000 × 10 into 20 clusters from the same start, 20 iterations;
PCA(10) of 200,000 × 500. Tributary makes the rows and takes the whole statement's time, of
a connection that is there, the peer fit's on arrays in memory.

    sklearn_unsupervised.py --dsn postgres://… [--suite kmeans|pca] [--intelex] [--scale 0.1]

Needs psql, and `pip install psycopg scikit-learn` (and scikit-learn-intelex)."""
import argparse
import os
import statistics
import subprocess
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--suite", choices=("kmeans", "pca"))
p.add_argument("--scale", type=float, default=1, help="of the number of rows")
p.add_argument("--runs", type=int, default=5)
p.add_argument("--threads", type=int, default=2)
p.add_argument("--intelex", action="store_true", help="patched by scikit-learn-intelex")
p.add_argument("--psql", default="psql")
a = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(a.threads)  # read when NumPy is imported

if a.intelex:
    from sklearnex import patch_sklearn

    patch_sklearn(verbose=False)

import numpy as np
import psycopg
import sklearn
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA


def psql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-c", text], capture_output=True, check=True).stdout


def rows(table, columns):
    """The rows of a table of float4 columns, out of COPY's binary format."""
    raw = psql(f"copy {table} to stdout (format binary)")
    cells = np.frombuffer(raw[19:-2], np.dtype([("n", ">i2"), ("cells", [("len", ">i4"), ("v", ">f4")], columns)]))
    return np.ascontiguousarray(cells["cells"]["v"].astype("<f4"))


# A dataset that is kept would have the next run read nothing.
connection = psycopg.connect(a.dsn, autocommit=True)
connection.execute("set tributary.keep_datasets = off")


def in_turn(name, statement, fit, quality):
    ours, peers = [], {np.float32: [], np.float64: []}
    for run in range(a.runs + 1):  # the first is cold
        start = time.perf_counter()
        connection.execute(statement)
        ours.append(time.perf_counter() - start)
        for dtype, took in peers.items():
            xd = x.astype(dtype)
            start = time.perf_counter()
            model = fit(xd)
            took.append(time.perf_counter() - start)
            if run == 0:
                print(f"{name} {np.dtype(dtype)}: {quality(model)}", flush=True)
    f32, f64 = (statistics.median(took[1:]) for took in peers.values())
    print(f"| {name}{' intelex' if a.intelex else ''} | {statistics.median(ours[1:]):.3f} | {f32:.3f} | {f64:.3f} |", flush=True)


def columns(n):
    return ", ".join(f"x{i}::real as x{i}" for i in range(n))


print(f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, {a.threads} threads; medians of {a.runs} in seconds: Tributary, float32, float64")
if a.suite != "pca":
    n = int(2_000_000 * a.scale)
    psql("drop table if exists bench_blobs; drop table if exists bench_start")
    psql(f"create table bench_blobs as select {columns(10)} from make_blobs(n_samples => {n}, n_features => 10, centers => 20, random_state => 1)")
    psql("create table bench_start as select * from bench_blobs limit 20")
    x, start = rows("bench_blobs", 10), rows("bench_start", 10)
    in_turn("kmeans", "train or replace model bench_kmeans using kmeans with (init = 'bench_start', max_iterations = 20, tolerance = 0, standardize = false) as select * from bench_blobs",
            lambda xd: KMeans(20, init=start.astype(xd.dtype), n_init=1, max_iter=20, tol=0, algorithm="lloyd").fit(xd), lambda m: f"inertia {m.inertia_:.6g}, {m.n_iter_} iterations")
    print("tributary:", psql("select metrics from ml.models where name = 'bench_kmeans'").decode().strip())
if a.suite != "kmeans":
    n = int(200_000 * a.scale)
    psql("drop table if exists bench_wide")
    psql(f"create table bench_wide as select {columns(500)} from make_classification(n_samples => {n}, n_features => 500, n_informative => 20, n_redundant => 0, random_state => 42)")
    x = rows("bench_wide", 500)
    in_turn("pca", "train or replace model bench_pca using pca with (n_components = 10) as select * from bench_wide",
            lambda xd: PCA(10, svd_solver="covariance_eigh").fit(xd), lambda m: f"explained variance {m.explained_variance_ratio_.sum():.10f}")
    print("tributary:", psql("select metrics from ml.models where name = 'bench_pca'").decode().strip())
