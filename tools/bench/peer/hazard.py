"""A net of discrete hazards (Gensheimer and Narasimhan 2019) by Keras, and the same net in
Tributary: layers of 32 and 16 units, ten intervals, Adam, batches of 256. The rows are
simulated: Weibull times whose scale bends and turns with the features, half of them
only seen for a while. Prints seconds and Harrell's concordance of the rows that were
left out, which one function here measures for both.

    hazard.py [--rows 60000] [--epochs 20] [--dsn postgres://…]

The server reads the rows from a file: --dsn is of one on this machine."""
import argparse
import csv
import os
import statistics
import subprocess
import tempfile
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--rows", type=int, default=60000)
p.add_argument("--epochs", type=int, default=20)
p.add_argument("--runs", type=int, default=5)
p.add_argument("--dsn")
p.add_argument("--psql", default="psql")
a = p.parse_args()

import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.threading.set_inter_op_parallelism_threads(2)

rng = np.random.default_rng(5)
x = rng.normal(size=(a.rows, 6))
risk = 1.2 * np.abs(x[:, 0]) - x[:, 1] * x[:, 2] + np.sin(2 * x[:, 3])
days = np.ceil(100 * rng.weibull(1.3, a.rows) * np.exp(-risk / 1.3))
until = np.ceil(rng.exponential(60, a.rows))
died = days <= until
days = np.minimum(days, until)
test = np.arange(a.rows) % 5 == 0
ends = np.unique(np.quantile(days[died & ~test], np.arange(1, 11) / 10))


def concordance(days, died, risk):
    """Of the pairs of which it is known whose event came first, the share of the greater risk."""
    good = pairs = 0.0
    for i in np.flatnonzero(died):
        later = (days > days[i]) | (days == days[i]) & ~died
        pairs += later.sum()
        good += (risk[i] > risk[later]).sum() + 0.5 * (risk[i] == risk[later]).sum()
    return good / pairs


def likelihood(days, died):
    """By row and interval: 1 where it was outlived, and where the event came."""
    start = np.concatenate([[0], ends[:-1]])
    outlived = np.where(died[:, None], days[:, None] > ends, days[:, None] >= (start + ends) / 2)
    return np.concatenate([outlived, died[:, None] & (days[:, None] > start) & (days[:, None] <= ends)], 1).astype("f")


def loss(y, z):
    """Mean negative log-likelihood of log-odds z."""
    outlived, came = tf.split(y, 2, 1)
    return tf.reduce_sum(outlived * tf.math.softplus(z) + came * tf.math.softplus(-z), 1)


print(f"{a.rows} rows, {died.mean():.0%} events, {len(ends)} intervals; of the true risk {concordance(days[test], died[test], risk[test]):.4f}")
xs = ((x - x[~test].mean(0)) / x[~test].std(0)).astype("f")
y = likelihood(days, died)
found = {"keras": [], "tributary": []}


def took(name, start, risk):
    found[name].append(concordance(days[test], died[test], risk))
    print(f"{name}: {start:.2f} s, concordance {found[name][-1]:.4f}", flush=True)


def sql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-c", text], capture_output=True, text=True, check=True).stdout.strip()


with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
    if a.dsn:
        w = csv.writer(f)
        w.writerow([f"x{j}" for j in range(6)] + ["days", "died", "part", "id"])
        for i in range(a.rows):
            w.writerow([*map(repr, map(float, x[i])), float(days[i]), bool(died[i]), int(test[i]), i])
        f.flush()
        os.chmod(f.name, 0o644)
        sql("drop table if exists hazard_rows")
        sql(f"create table hazard_rows as select * from read_csv('{f.name}')")
    for run in range(a.runs):
        tf.keras.utils.set_random_seed(run)
        m = tf.keras.Sequential([tf.keras.layers.Input((6,)), tf.keras.layers.Dense(32, "relu"), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(len(ends))])
        m.compile(loss=loss, optimizer="adam")
        start = time.perf_counter()
        m.fit(xs[~test], y[~test], batch_size=256, epochs=a.epochs, verbose=0)
        seconds = time.perf_counter() - start
        took("keras", seconds, np.log1p(np.exp(m.predict(xs[test], verbose=0))).sum(1))
        if a.dsn:
            start = time.perf_counter()
            sql(f"train or replace model hazard_net using time_to_event predict days with (event = died, method = hazard, hidden_units = [32, 16], intervals = "
                f"[{', '.join(map(str, ends))}], optimizer = adam, batch_size = 256, epochs = {a.epochs}, seed = {run}) "
                "as select x0, x1, x2, x3, x4, x5, days, died from hazard_rows where part = 0")
            seconds = time.perf_counter() - start
            rows = sql("select predict('hazard_net', h) from hazard_rows h where part = 1 order by id").split()
            took("tributary", seconds, np.array(rows, float))
for name, list in found.items():
    if list:
        print(f"{name}: concordance {statistics.median(list):.4f} by the median of {len(list)} runs")
