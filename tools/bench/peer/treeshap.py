"""Compares `ml.explain_predict` of boosted trees with the contributions that LightGBM
(`pred_contrib`) and XGBoost (`pred_contribs`) give for their own trees.

    python treeshap.py --dsn postgres://… [--rows 6000] [--trees 30]

Attributions are of trees, so the trees must be the same ones: features have few
values, of which every library makes bins of their own, a tenth are missing, and all
grow greedily with the same options. Leaves have many rows: with a value that no row of a
node has, libraries do not agree which way it would go. That the trees are the same is
checked first: each row's prediction is. LightGBM weighs the ways that a row with
unknown features may go by counts of rows, XGBoost and Tributary by second derivatives;
of a regression these are the same. Prints the greatest differences; exit code 1 if they are more than
what float32 leaves and sums explain.

Needs `pip install numpy lightgbm xgboost`, and psql; the server reads the rows
from a file: --dsn is of one on this machine."""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--psql", default="psql")
p.add_argument("--rows", type=int, default=6000)
p.add_argument("--trees", type=int, default=30)
p.add_argument("--depth", type=int, default=4)
p.add_argument("--seed", type=int, default=1)
a = p.parse_args()

import lightgbm
import numpy as np
import xgboost

RATE, L2 = 0.3, 1.0
LEAST = 40  # the weight of a leaf
FEATURES, VALUES = 8, 10


def sql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-v", "ON_ERROR_STOP=1", "-c", text], capture_output=True, text=True, check=True).stdout


def ours(task, x, y):
    """Predictions and contributions, those of nothing last."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        w = csv.writer(f)
        w.writerow([f"x{j}" for j in range(FEATURES)] + ["y", "id"])
        for i in range(len(x)):
            w.writerow(["" if v != v else int(v) for v in x[i]] + [int(y[i]) if task == "classes" else repr(float(y[i])), i])
        f.flush()
        os.chmod(f.name, 0o644)
        sql(f"drop table if exists treeshap; create table treeshap as select * from read_csv('{f.name}')")
    target = "y::integer as y" if task == "classes" else "y"
    names = ", ".join(f"x{j}" for j in range(FEATURES))
    sql(f"set client_min_messages = error; train or replace model treeshap using gradient_boosted_trees predict y with (n_estimators = {a.trees}, max_depth = {a.depth}, "
        f"learning_rate = {RATE}, l2 = {L2}, min_child_weight = {LEAST}, data_split_method = no_split) as select {names}, {target} from treeshap")
    out = np.zeros((len(x), FEATURES + 1))
    margin = np.zeros(len(x))
    rows = sql(f"select json_build_array(id, baseline_prediction_value, prediction_value, top_feature_attributions) from ml.explain_predict('treeshap', (select {names}, id from treeshap))")
    for line in rows.splitlines():
        i, base, value, parts = json.loads(line)
        out[i, FEATURES], margin[i] = base, value
        for part in parts:
            out[i, int(part["feature"][1:])] = part["attribution"]
    return margin, out


def theirs(task, x, y):
    mean = float(np.mean(y))
    common = dict(n_estimators=a.trees, max_depth=a.depth, learning_rate=RATE, reg_lambda=L2)
    booster = (xgboost.XGBClassifier if task == "classes" else xgboost.XGBRegressor)(
        tree_method="hist", max_bin=256, min_child_weight=LEAST, base_score=mean, n_jobs=1, **common)
    booster.fit(x, y)
    d = xgboost.DMatrix(x)
    yield "xgboost", booster.get_booster().predict(d, output_margin=True), booster.get_booster().predict(d, pred_contribs=True)
    if task == "numbers":
        light = lightgbm.LGBMRegressor(num_leaves=2**a.depth, min_child_samples=LEAST, min_child_weight=LEAST, max_bin=255, min_data_in_bin=1, n_jobs=1, verbose=-1, **common)
        light.fit(x, y)
        yield "lightgbm", light.predict(x, raw_score=True), light.predict(x, pred_contrib=True)


failed = False
for task in ("numbers", "classes"):
    r = np.random.default_rng(a.seed)
    x = r.integers(0, VALUES, (a.rows, FEATURES)).astype(np.float32)
    z = np.sin(x[:, 0] / 1.5) + x[:, 1] * x[:, 2] / 25 + np.where(x[:, 3] > 5, x[:, 4], -x[:, 5]) / 5 + 0.3 * r.standard_normal(a.rows)
    y = z if task == "numbers" else (z > np.median(z)).astype(float)
    x[r.random(x.shape) < 0.1] = np.nan
    margin, parts = ours(task, x, y)
    print(f"{task}: our attributions and baseline add up to the prediction within {np.abs(parts.sum(1) - margin).max():.1e}")
    for name, their_margin, their_parts in theirs(task, x, y):
        same = np.abs(their_margin - margin) < 1e-4
        apart = np.abs(their_parts - parts)[same]
        print(f"{task}, {name}: the same prediction for {same.sum()} of {a.rows} rows (apart {np.abs(their_margin - margin).max():.1e}); "
              f"attributions of these apart by at most {apart[:, :FEATURES].max():.1e}, of up to {np.abs(parts[:, :FEATURES]).max():.2f}; baselines by {apart[:, FEATURES].max():.1e}")
        failed = failed or not same.all() or apart.max() > 1e-4
sys.exit(1 if failed else 0)
