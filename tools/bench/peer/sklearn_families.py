"""Isolation forests, Gaussian mixtures, naive Bayes and the imputers of TRANSFORM by scikit-learn and by Tributary, on the same
generated rows and in turn: seconds of processor time of a training, and how near what they say is.

    sklearn_families.py --dsn postgres://… --pid SERVER [--suite isolation,mixture,bayes,knn_imputer,iterative_imputer] [--scale 1] [--runs 3]

--pid is the server's process, whose processor time is read. Tributary's time is that of the whole statement, which reads a stored
table; scikit-learn's that of fit, of an imputer that of fit_transform and of the regression behind it. Needs psql, and
`pip install psycopg scikit-learn`."""
import argparse
import io
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--pid", type=int, required=True)
p.add_argument("--suite", default="isolation,mixture,bayes,knn_imputer,iterative_imputer")
p.add_argument("--scale", type=float, default=1, help="of the number of rows")
p.add_argument("--runs", type=int, default=3)
p.add_argument("--threads", type=int, default=2)
a = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(a.threads)

import numpy as np
import psycopg
import sklearn
from sklearn.ensemble import IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

c = psycopg.connect(a.dsn, autocommit=True)
c.execute("set tributary.keep_datasets = off")
c.execute("set client_min_messages = error")
rng = np.random.default_rng(1)


def server():
    with open(f"/proc/{a.pid}/stat") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored(x, y=None, kind="float8"):
    """Stores rows as the table bench_rows, in order of i; kind is y's type."""
    columns = [f"x{j}" for j in range(x.shape[1])] + (["y"] if y is not None else [])
    rows = x if y is None else np.column_stack([x, y])
    c.execute("drop table if exists bench_rows")
    typed = [f"{k} {kind if k == 'y' else 'float8'}" for k in columns]
    c.execute(f"create table bench_rows (i int, {', '.join(typed)})")
    with c.cursor().copy("copy bench_rows from stdin (format csv)") as copy:
        for part in np.array_split(np.arange(len(rows)), max(1, len(rows) // 50_000)):
            text = io.StringIO()
            np.savetxt(text, np.column_stack([part, rows[part]]), "%.17g", ",")
            copy.write(text.getvalue().replace("nan", ""))
    return ", ".join(columns)


def in_turn(name, statement, fit, quality):
    ours, peer = [], []
    for _ in range(a.runs):
        start = server()
        c.execute(statement)
        ours.append(server() - start)
        start = time.process_time()
        model = fit()
        peer.append(time.process_time() - start)
    mine, its = min(ours), min(peer)
    print(f"| {name} | {mine:.2f} | {its:.2f} | {mine / its:.2f} | {quality(model)} |", flush=True)


def predicted(column):
    return np.array([row[0] for row in c.execute(f"select {column} from ml.predict('bench_m', (select * from bench_rows)) order by i")], float)


def probability():
    return np.array([row[0] for row in c.execute("select predict_proba('bench_m', '1', r) from bench_rows r order by i")], float)


def blobs(n, d, k):
    centres = rng.normal(size=(k, d)) * 4
    which = rng.integers(k, size=n)
    return centres[which] + rng.normal(size=(n, d)) * rng.uniform(0.5, 1.5, size=(k, 1))[which], which


def isolation():
    n = int(500_000 * a.scale)
    x, _ = blobs(n, 10, 5)
    odd = rng.random(n) < 0.02
    x[odd] += rng.normal(size=(odd.sum(), 10)) * 2.5
    columns = stored(x)
    statement = "train or replace model bench_m using isolation_forest with (contamination = 0.02, seed = {}) as select {} from bench_rows"

    def area(_):
        areas = [[], []]
        for seed in range(8):
            c.execute(statement.format(seed, columns))
            areas[0].append(roc_auc_score(odd, predicted("score")))
            areas[1].append(roc_auc_score(odd, -IsolationForest(contamination=0.02, random_state=seed).fit(x).score_samples(x)))
        return "area under the ROC curve of eight seeds " + " and ".join(f"{np.mean(list):.4f} ± {np.std(list):.4f}" for list in areas)

    in_turn(f"isolation forest, {n:,} × 10, contamination 0.02", statement.format(0, columns), lambda: IsolationForest(contamination=0.02, random_state=0).fit(x), area)


def mixture():
    n = int(500_000 * a.scale)
    x, _ = blobs(n, 10, 5)
    columns = stored(x)
    for ours, kind in (("full", "full"), ("diagonal", "diag")):
        in_turn(f"mixture of 5, {kind}, {n:,} × 10", f"train or replace model bench_m using gaussian_mixture with (n_components = 5, covariance_type = '{ours}', standardize = false) as select {columns} from bench_rows",
                lambda: GaussianMixture(5, covariance_type=kind, random_state=0).fit(x),
                lambda m: f"mean log density {predicted('log_density').mean():.6f} and {m.score(x):.6f}")


def bayes():
    n = int(1_000_000 * a.scale)
    x, which = blobs(n, 20, 2)
    x = x + rng.normal(size=x.shape) * 12
    columns = stored(x, which, "int")
    in_turn(f"naive Bayes, {n:,} × 20", f"train or replace model bench_m using naive_bayes predict y as select {columns} from bench_rows",
            lambda: GaussianNB().fit(x, which),
            lambda m: f"probabilities differ by at most {np.abs(probability() - m.predict_proba(x)[:, 1]).max():.1e}")
    counts = np.abs(np.floor(x / 4))
    columns = stored(counts, which, "int")
    for model, peer in (("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)):
        in_turn(f"naive Bayes, {model}, {n:,} × 20", f"train or replace model bench_m using naive_bayes predict y with (model = '{model}') as select {columns} from bench_rows",
                lambda: peer().fit(counts, which),
                lambda m: f"probabilities differ by at most {np.abs(probability() - m.predict_proba(counts)[:, 1]).max():.1e}")


def gaps(n, d=20):
    x = rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + rng.normal(size=(n, d)) * 0.5
    y = x @ rng.normal(size=d) + rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y


def imputer(name, make, sizes):
    for n in sizes:
        n = int(n * a.scale)
        x, y = gaps(n)
        columns = stored(x, y)
        list = columns.removesuffix(", y")

        def fit():
            filled = make()
            z = filled.fit_transform(x)
            return z, LinearRegression().fit(z, y)

        in_turn(f"{name}, {n:,} × 20", f"train or replace model bench_m using linear_regression predict y transform (ml.{name}(({list}))) as select {columns} from bench_rows", fit,
                lambda m: f"predictions differ by {np.sqrt(np.mean((predicted('predicted_y') - m[1].predict(m[0])) ** 2)) / y.std():.1e} deviations of y")


print(f"scikit-learn {sklearn.__version__}, {a.threads} threads; least of {a.runs} runs, in s of processor time: Tributary, scikit-learn, ratio")
for suite in a.suite.split(","):
    match suite:
        case "isolation":
            isolation()
        case "mixture":
            mixture()
        case "bayes":
            bayes()
        case "knn_imputer":
            imputer("knn_imputer", KNNImputer, (20_000,))
        case "iterative_imputer":
            imputer("iterative_imputer", IterativeImputer, (20_000, 200_000))
