"""PMML: JPMML predicts what was exported as predict() does, with NULLs, unseen categories, encoders and classes."""
import os
import tempfile

import numpy as np
import pandas as pd
import psycopg
from jpmml_evaluator import make_evaluator
from jpmml_evaluator.jpype import JPypeBackend

conn = psycopg.connect(os.environ["URL"], autocommit=True)
cur = conn.cursor()
schema = f"pmml{os.getpid()}"
cur.execute(f"create schema {schema}")
cur.execute(f"set search_path = {schema}")
backend = JPypeBackend()

cur.execute("""create table r as select i as n, ((i * 7919) % 1000) / 333.0 - 1.5 as a, (i % 7)::int4 as b,
    case when i % 5 > 0 then ((i * 104729) % 977) / 100.0 - 2.5 end::float8 as gap,
    case when i % 9 > 0 then (array['x', 'y', 'zz', 'ü <&>"'])[(i * 31) % 4 + 1] end as k, (i * 13) % 3 > 0 as flag, (i % 4)::int8 as code,
    timestamp '1968-12-30 01:00' + i * interval '7 hours 11 minutes' as t, date '2023-02-27' + i as d,
    array[((i * 17) % 100) / 10.0, ((i * 23) % 100) / 10.0] as arr from generate_series(1, 400) i""")
cur.execute("alter table r add v float8, add kind text, add two boolean")
cur.execute("update r set v = a * 2 + b + coalesce(gap, 1) * 0.5 + case k when 'x' then 3 when 'y' then -2 else 0 end + sin(n)")
cur.execute("update r set kind = (array['low', 'mid', 'top'])[1 + (v > 2)::int + (v > 6)::int], two = v > 4, v = v + 20")
# What is predicted has categories that no model has seen.
cur.execute("create table q as select * from r where n <= 200")
cur.execute("update q set k = 'other' where n % 11 = 0")
cur.execute("update q set gap = null, a = null where n % 13 = 0")

FEATURES = "a, b, gap, k, flag, code"
TREES = "n_estimators = 8, max_depth = 4"
TRAININGS = {
    "linear": f"using ridge predict v as select {FEATURES}, t, d, arr, v from r",
    "poisson": f"using poisson_regression predict v as select {FEATURES}, v from r",
    "logit": f"using logistic_regression predict two as select {FEATURES}, t, two from r",
    "multi": f"using logistic_regression predict kind as select {FEATURES}, kind from r",
    "svm": "using linear_svm predict kind as select a, b, k, kind from r",
    "prepared": "using linear_regression predict v transform (ml.quantile_bucketize(gap, 5) as gap, ml.label_encoder(k) as k, ml.min_max_scaler(a) as a, ml.one_hot_encoder(b) as b, v) as select gap, k, a, b, v from r",
    "encoded": "using ridge predict v transform (ml.target_encode(k) as k, ml.target_encode(code, 5) as code, a, v) as select k, code, a, v from r",
    "boosted": f"using gradient_boosted_trees predict v with ({TREES}) as select {FEATURES}, d, v from r",
    "boosted_two": f"using gradient_boosted_trees predict two with ({TREES}) as select {FEATURES}, two from r",
    "boosted_kind": f"using gradient_boosted_trees predict kind with ({TREES}) as select {FEATURES}, kind from r",
    "forest": f"using random_forest predict v with ({TREES}) as select {FEATURES}, v from r",
    "forest_two": f"using random_forest predict two with ({TREES}) as select {FEATURES}, two from r",
    "forest_kind": f"using random_forest predict kind with ({TREES}) as select {FEATURES}, kind from r",
    "counts": f"using gradient_boosted_trees predict b with ({TREES}, objective = 'poisson') as select a, gap, k, b from r",
    "net": f"using mlp predict v with (hidden_units = [8, 4], epochs = 3) as select {FEATURES}, v from r",
    "net_kind": "using mlp predict kind with (hidden_units = [8], activation = 'tanh', epochs = 3) as select a, gap, k, kind from r",
    "net_two": "using mlp predict two with (hidden_units = [4], epochs = 3) as select a, gap, k, two from r",
    "clusters": "using kmeans with (n_clusters = 4, random_state = 1) as select a, b, gap, k from r",
    "hazard": "using time_to_event predict v with (event = two, hidden_units = [4], epochs = 3, random_state = 1) as select a, b, k, v, two from r",
    "cox": "using cox_regression predict v with (event = two) as select a, b, k, v, two from r",
    "components": "using pca with (n_components = 2) as select a, b, gap, k from r",
    "pair": "using ridge predict v, b as select a, k, gap, v, b from r",
}
rows = lambda sql: cur.execute(sql).fetchall()
frame = pd.DataFrame(rows("select * from q order by n"), columns=[c.name for c in cur.description])
for c in ("a", "gap"):
    frame[c] = frame[c].astype(float)
for j in (1, 2):
    frame[f"arr[{j}]"] = [float(x[j - 1]) for x in frame["arr"]]
frame["t"] = [x.isoformat() for x in frame["t"]]
frame["d"] = [x.isoformat() for x in frame["d"]]


def close(got, want, tolerance, what):
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    worst = np.max(np.abs(got - want) / np.maximum(1, np.abs(want)))
    assert worst <= tolerance, (what, worst)


for name, text in TRAININGS.items():
    cur.execute(f"train model {name} {text}")
    with tempfile.NamedTemporaryFile(suffix=".pmml") as f:
        with cur.copy(f"export model {name} to stdout with (format = 'pmml')") as c:
            for part in c:
                f.write(part)
        f.flush()
        m = make_evaluator(f.name, backend=backend).verify()
    out = m.evaluateAll(frame[[x.getName() for x in m.getInputFields()]])
    tolerance = 2e-5 if name.startswith("net") or name == "hazard" else 1e-6  # a net computes in float32
    if name == "pair":
        for i, c in enumerate(("v", "b")):
            close(out["predicted_" + c], [x[0] for x in rows(f"select (predict('pair', q))[{i + 1}] from q order by n")], tolerance, name)
        continue
    got = [x[0] for x in rows(f"select predict('{name}', q) from q order by n")]
    if name == "components":
        close(out[["components[1]", "components[2]"]], got, tolerance, name)
        continue
    classes = [c for c in out.columns if str(c).startswith("probability(")]
    if not classes:
        of = {"clusters": "cluster", "cox": "risk", "hazard": "risk"}.get(name) or m.getTargetFields()[0].getName()
        close(out[of], got, tolerance, name)
        continue
    proba = [x[0] for x in rows(f"select predict_proba('{name}', q) from q order by n")]
    proba = [x if isinstance(x, list) else [1 - x, x] for x in proba]
    close(out[classes], proba, tolerance, name)
    labels = [str(x).lower() for x in out[m.getTargetFields()[0].getName()]]
    differ = [i for i, x in enumerate(got) if str(x).lower() != labels[i]]
    assert all(np.diff(np.sort(proba[i]))[-1] < 1e-6 for i in differ), (name, len(differ))

cur.execute(f"drop schema {schema} cascade")
print("ok")
