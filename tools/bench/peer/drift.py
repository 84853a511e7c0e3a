"""Drift of 100 columns of numbers beside the statistics that a model keeps of its training rows, and the averages of the same columns:
seconds of the server's processor time. Then ml.validate_data_drift of two small tables beside scipy.

    drift.py --dsn postgres://… --pid SERVER [--rows 1000000] [--columns 100] [--runs 5]

--pid is the server's process, whose processor time is read. Needs `pip install psycopg scipy`."""
import argparse
import os

import numpy as np
import psycopg
import scipy
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, ks_2samp

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--pid", type=int, required=True)
p.add_argument("--rows", type=int, default=1_000_000)
p.add_argument("--columns", type=int, default=100)
p.add_argument("--runs", type=int, default=5)
a = p.parse_args()

c = psycopg.connect(a.dsn, autocommit=True)
c.execute("set client_min_messages = error")


def used(sql):
    def server():
        with open(f"/proc/{a.pid}/stat") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    start = server()
    c.execute(sql).fetchall()
    return server() - start


c.execute("drop table if exists bench_drift")
c.execute(f"create table bench_drift as select * from make_blobs(n_samples => {a.rows}, n_features => {a.columns}, centers => 5, random_state => 1)")
columns = [f"x{j}" for j in range(a.columns)]
c.execute(f"train or replace model bench_drift using naive_bayes predict y as select {', '.join(columns)}, (x0 > 0) as y from bench_drift")
drift = f"select * from ml.validate_data_skew('bench_drift', (select {', '.join(columns)} from bench_drift))"
averages = f"select {', '.join(f'avg({x})' for x in columns)} from bench_drift"
took = [(used(drift), used(averages)) for _ in range(a.runs)]
mine, plain = (min(x) for x in zip(*took))
print(f"{a.rows:,} rows of {a.columns} columns: drift {mine:.2f} s, averages {plain:.2f} s, {mine / plain:.2f} × (least of {a.runs}, in turn)")

rng = np.random.default_rng(1)
for name, shift in (("bench_then", 0), ("bench_now", 0.3)):
    c.execute(f"drop table if exists {name}")
    c.execute(f"create table {name} (x float8, n int, k text)")
    with c.cursor().copy(f"copy {name} from stdin") as copy:
        for x, n, k in zip(rng.normal(size=5000) + shift, rng.poisson(3 + shift, 5000), rng.choice(list("abcdef"), 5000, p=np.array([1, 2, 3, 4, 5, 5 + 9 * shift]) / (20 + 9 * shift))):
            copy.write_row((float(x), int(n), str(k)))
got = {row[0]: row[1:] for row in c.execute("select feature, kolmogorov_smirnov, jensen_shannon, chi_square from ml.validate_data_drift((select * from bench_then), (select * from bench_now))")}
column = lambda name, k: [row[0] for row in c.execute(f"select {k} from {name}")]
far = max(abs(got[k][0] - ks_2samp(column("bench_then", k), column("bench_now", k)).statistic) for k in "xn")
then, now = (np.array([column(name, "k").count(k) for k in "abcdef"]) for name in ("bench_then", "bench_now"))
far = max(far, abs(got["k"][1] - jensenshannon(then, now)), abs(got["k"][2] - chi2_contingency([then, now], correction=False).statistic))
print(f"Kolmogorov-Smirnov, Jensen-Shannon and chi-squared beside scipy {scipy.__version__}: at most {far:.1e} apart")
