"""Searches settings of boosted trees, by Tributary's halving and by Optuna's TPE with pruning over LightGBM.

    python search.py postgres://tributary@127.0.0.1:5432/tributary --pid PID

Both try the same ranges on the same rows with the same rows held out, which are read from the server. Prints
seconds, CPU seconds (the server's of process PID) and the best AUC of the rows held out; of Optuna also when it
first had an AUC as good as Tributary's. Needs `pip install optuna lightgbm pandas scikit-learn psycopg[binary]`.
"""

import argparse
import os

args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("dsn")
args.add_argument("--pid", type=int, help="the server's process")
args.add_argument("--samples", type=int, default=1_000_000)
args.add_argument("--trials", type=int, default=30)
args.add_argument("--rounds", type=int, default=100)
args.add_argument("--threads", type=int, default=2)
o = args.parse_args()
os.environ["OMP_NUM_THREADS"] = str(o.threads)  # read when NumPy is imported

import io
import time

import lightgbm
import optuna
import pandas as pd
import psycopg
from sklearn.metrics import roc_auc_score


def cpu():
    if not o.pid:
        return float("nan")
    fields = open(f"/proc/{o.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


server = psycopg.connect(o.dsn, autocommit=True)
server.execute("DROP TABLE IF EXISTS searched")
server.execute(
    "CREATE TABLE searched AS SELECT *, floor(abs(x0) * 1000000)::int8 % 5 = 0 AS held FROM "
    f"make_classification(n_samples => {o.samples}, n_features => 28, n_informative => 10, random_state => 7)"
)
since, used = time.time(), cpu()
server.execute(
    "TRAIN OR REPLACE MODEL searched USING gradient_boosted_trees PREDICT y WITH (learning_rate = hparam_range(0.03, 0.3, log => true), "
    "max_depth = hparam_range(4, 8), l2_reg = hparam_range(0.1, 10, log => true), hparam_tuning_algorithm = 'halving', hparam_tuning_objective = 'roc_auc', "
    f"n_estimators = {o.rounds}, num_trials = {o.trials}, data_split_method = 'custom', data_split_col = 'held') AS SELECT * FROM searched"
)
ours = server.execute("SELECT max(objective) FROM ml.trials('searched') WHERE best").fetchone()[0]
print(f"tributary: {time.time() - since:.1f} s, {cpu() - used:.1f} CPU s, AUC {ours:.5f}", flush=True)

text = io.BytesIO()
with server.cursor().copy("COPY searched TO STDOUT (FORMAT csv, HEADER)") as rows:
    for piece in rows:
        text.write(piece)
text.seek(0)
table = pd.read_csv(text, true_values=["t"], false_values=["f"])
held = table.pop("held").to_numpy(bool)
y = table.pop("y").to_numpy(int)
x = table.to_numpy()
del table, text

since, used = time.time(), time.process_time()
data = lightgbm.Dataset(x[~held], y[~held], params={"verbose": -1, "num_threads": o.threads}).construct()
test = lightgbm.Dataset(x[held], y[held], reference=data).construct()
reached = []


def objective(trial):
    depth = trial.suggest_int("max_depth", 4, 8)
    params = {
        "objective": "binary", "metric": "auc", "verbose": -1, "num_threads": o.threads, "max_depth": depth, "num_leaves": 2**depth,
        "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True), "lambda_l2": trial.suggest_float("lambda_l2", 0.1, 10, log=True),
    }

    def prune(env):
        trial.report(env.evaluation_result_list[0][2], env.iteration)
        if trial.should_prune():
            raise optuna.TrialPruned()

    booster = lightgbm.train(params, data, o.rounds, valid_sets=[test], callbacks=[prune])
    auc = roc_auc_score(y[held], booster.predict(x[held], num_threads=o.threads))
    if auc >= ours and not reached:
        reached.append((time.time() - since, time.process_time() - used))
    return auc


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0), pruner=optuna.pruners.MedianPruner(n_warmup_steps=5))
study.optimize(objective, n_trials=o.trials)
print(f"lightgbm {lightgbm.__version__}, optuna {optuna.__version__}: {time.time() - since:.1f} s, {time.process_time() - used:.1f} CPU s, AUC {study.best_value:.5f}, "
      f"{sum(t.state == optuna.trial.TrialState.PRUNED for t in study.trials)} trials pruned")
for wall, processor in reached:
    print(f"an AUC as good as tributary's after {wall:.1f} s, {processor:.1f} CPU s")
