"""The objectives of boosted trees by LightGBM and by Tributary with the same settings: 100 rounds of
trees of 31 leaves, on rows of 10 numbers of which a fifth is left out. Prints of each the loss of
those rows, which one function here measures for both, and the seconds of the training.

    objectives.py --dsn postgres://… [--rows 100000]

The server reads the rows from a file: --dsn is of one on this machine. Needs
`pip install lightgbm numpy`."""
import argparse
import os
import subprocess
import tempfile
import time

import lightgbm
import numpy as np

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--rows", type=int, default=100000)
p.add_argument("--dsn", required=True)
p.add_argument("--psql", default="psql")
p.add_argument("--only", default="")
a = p.parse_args()

rng = np.random.default_rng(11)
x = rng.normal(size=(a.rows, 10)).round(3)
margin = 0.6 * np.sin(2 * x[:, 0]) + 0.4 * x[:, 1] * (x[:, 2] > 0) + 0.3 * np.abs(x[:, 3]) - 0.5
mean = np.exp(margin)
test = np.arange(a.rows) % 5 == 0
claims = rng.poisson(mean)
targets = {
    "number": 3 * margin + rng.standard_t(3, a.rows) * (1 + 0.5 * (x[:, 4] > 0)),
    "count": claims.astype(float),
    "amount": rng.gamma(2, mean / 2),
    "sum": np.where(claims > 0, rng.gamma(np.maximum(claims, 1) * 2.0, 0.5), 0),
}


def pinball(tau):
    return lambda y, v: np.mean(np.maximum(tau * (y - v), (tau - 1) * (y - v)))


def poisson(y, v):
    return np.mean(v - y + np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / v), 0))


def tweedie(power):
    return lambda y, v: np.mean(y ** (2 - power) / (1 - power) / (2 - power) - y * v ** (1 - power) / (1 - power) + v ** (2 - power) / (2 - power))


def huber(y, v):
    e = np.abs(y - v)
    return np.mean(np.where(e > 1, e - 0.5, e * e / 2))


tasks = {
    "squared_error": ("number", {"objective": "regression"}, "objective = squared_error", lambda y, v: np.mean((y - v) ** 2)),
    "absolute_error": ("number", {"objective": "regression_l1"}, "objective = absolute_error", lambda y, v: np.mean(np.abs(y - v))),
    "quantile 0.1": ("number", {"objective": "quantile", "alpha": 0.1}, "objective = quantile, quantile_alpha = 0.1", pinball(0.1)),
    "quantile 0.9": ("number", {"objective": "quantile", "alpha": 0.9}, "objective = quantile, quantile_alpha = 0.9", pinball(0.9)),
    "huber": ("number", {"objective": "huber", "alpha": 1.0}, "objective = huber, huber_delta = 1", huber),
    "poisson": ("count", {"objective": "poisson"}, "objective = poisson", poisson),
    "gamma": ("amount", {"objective": "gamma"}, "objective = gamma", lambda y, v: np.mean(y / v - 1 - np.log(y / v))),
    "tweedie": ("sum", {"objective": "tweedie", "tweedie_variance_power": 1.5}, "objective = tweedie, tweedie_variance_power = 1.5", tweedie(1.5)),
}
columns = [f"x{j}" for j in range(x.shape[1])]


def sql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-c", text], capture_output=True, text=True, check=True).stdout.strip()


with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
    table = np.column_stack([x, *targets.values(), test, np.arange(a.rows)])
    np.savetxt(f, table, delimiter=",", header=",".join(columns + ["y_" + t for t in targets] + ["part", "id"]), comments="", fmt="%.17g")
    f.flush()
    os.chmod(f.name, 0o644)
    sql("drop table if exists objective_rows")
    sql(f"create table objective_rows as select * from read_csv('{f.name}')")

print(f"{'objective':16} {'LightGBM':>10} {'s':>6} {'Tributary':>10} {'s':>6} {'difference':>10}")
for name, (target, params, options, loss) in tasks.items():
    if a.only and a.only not in name:
        continue
    y = targets[target]
    start = time.perf_counter()
    peer = lightgbm.train(
        {"num_leaves": 31, "learning_rate": 0.1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 20, "max_bin": 255, "num_threads": 2, "verbose": -1, **params},
        lightgbm.Dataset(x[~test], y[~test]), 100)
    took = time.perf_counter() - start
    theirs = loss(y[test], peer.predict(x[test]))
    start = time.perf_counter()
    sql(f"train or replace model objective_trees using boosted_tree_regressor predict y_{target} with (n_estimators = 100, num_leaves = 31, learn_rate = 0.1, "
        f"min_child_weight = 20, l2 = 0, {options}) as select {', '.join(columns)}, y_{target} from objective_rows where part = 0")
    own = time.perf_counter() - start
    rows = sql("select predict('objective_trees', r) from objective_rows r where part = 1 order by id").split()
    ours = loss(y[test], np.array(rows, float))
    print(f"{name:16} {theirs:10.6f} {took:6.2f} {ours:10.6f} {own:6.2f} {ours / theirs - 1:10.3%}", flush=True)
