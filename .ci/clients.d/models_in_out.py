"""Models in and out: onnxruntime, XGBoost and LightGBM predict what was written as predict() does, and what they and scikit-learn wrote comes in."""
import os
import tempfile

import lightgbm as lgb
import numpy as np
import onnxruntime as ort
import pandas as pd
import psycopg
import xgboost as xgb
from safetensors.numpy import load_file
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

conn = psycopg.connect(os.environ["URL"], autocommit=True)
cur = conn.cursor()
schema = f"inout{os.getpid()}"
cur.execute(f"create schema {schema}")
cur.execute(f"set search_path = {schema}")
tmp = tempfile.mkdtemp()


def export(name, fmt):
    with cur.copy(f"EXPORT MODEL {name} TO STDOUT WITH (format = '{fmt}')") as c:
        return b"".join(bytes(b) for b in c)


def bring(name, data, options=""):
    with cur.copy(f"IMPORT MODEL {name} FROM STDIN {options}") as c:
        c.write(data)


def rows(sql):
    return cur.execute(sql).fetchall()


cur.execute("""create table r as select i as n, ((i * 7919) % 1000) / 333.0 - 1.5 as a, (i % 7)::int4 as b,
    case when i % 5 > 0 then ((i * 104729) % 977) / 100.0 - 2.5 end::float8 as gap,
    case when i % 9 > 0 then (array['x', 'y', 'zz', 'ü'])[(i * 31) % 4 + 1] end as k, (i * 13) % 3 > 0 as flag, (i % 4)::int8 as code,
    timestamp '2023-12-30 01:00' + i * interval '7 hours 11 minutes' as t,
    array[((i * 17) % 100) / 10.0, ((i * 23) % 100) / 10.0] as arr from generate_series(1, 600) i""")
cur.execute("""alter table r add v float8, add kind text, add two boolean""")
cur.execute("update r set v = a * 2 + b + coalesce(gap, 1) * 0.5 + case k when 'x' then 3 when 'y' then -2 else 0 end + sin(n)")
cur.execute("update r set kind = (array['low', 'mid', 'top'])[1 + (v > 2)::int + (v > 6)::int], two = v > 4, v = v + 20")

FEATURES = "a, b, gap, k, flag, code"
TRAININGS = {
    "linear": f"using ridge predict v as select {FEATURES}, t, arr, v from r",
    "poisson": f"using poisson_regression predict v as select {FEATURES}, v from r",
    "logit": f"using logistic_regression predict two as select {FEATURES}, t, two from r",
    "multi": f"using logistic_regression predict kind as select {FEATURES}, kind from r",
    "svm": "using linear_svm predict kind as select a, b, kind from r",
    "prepared": "using linear_regression predict v transform (ml.quantile_bucketize(gap, 5) as gap, ml.label_encoder(k) as k, ml.min_max_scaler(a) as a, ml.one_hot_encoder(b) as b, v) as select gap, k, a, b, v from r",
    "encoded": "using ridge predict v transform (ml.target_encode(k) as k, ml.target_encode(code, 5) as code, a, v) as select k, code, a, v from r",
    "shares": "using logistic_regression predict kind transform (ml.target_encode(k) as k, a) as select k, a, kind from r",
    "boosted": f"using gradient_boosted_trees predict v with (n_estimators = 20, max_depth = 4) as select {FEATURES}, v from r",
    "boosted_two": f"using gradient_boosted_trees predict two with (n_estimators = 20, max_depth = 4) as select {FEATURES}, two from r",
    "boosted_kind": f"using gradient_boosted_trees predict kind with (n_estimators = 10, max_depth = 4) as select {FEATURES}, kind from r",
    "forest": f"using random_forest predict v with (n_estimators = 12, max_depth = 6, random_state = 1) as select {FEATURES}, v from r",
    "forest_two": f"using random_forest predict two with (n_estimators = 12, max_depth = 6, random_state = 1) as select {FEATURES}, two from r",
    "forest_kind": f"using random_forest predict kind with (n_estimators = 12, max_depth = 6, random_state = 1) as select {FEATURES}, kind from r",
    "net": f"using mlp predict v with (hidden_units = [8, 4], epochs = 5, random_state = 1) as select {FEATURES}, v from r",
    "net_gelu": "using mlp predict kind with (hidden_units = [8], activation = 'gelu', layer_norm = true, epochs = 5, random_state = 1) as select a, b, gap, k, kind from r",
    "net_two": "using mlp predict two with (hidden_units = [4], activation = 'tanh', epochs = 5, random_state = 1) as select a, b, gap, k, two from r",
    "clusters": "using kmeans with (n_clusters = 4, random_state = 1) as select a, b, gap, k from r",
    "components": "using pca with (n_components = 2) as select a, b, gap, k from r",
    "svd": "using svd with (n_components = 2) as select a, b from r",
    "coder": "using autoencoder with (hidden_units = [3], epochs = 3, random_state = 1) as select a, b, gap from r",
    "pair": "using ridge predict v, gap as select a, b, k, v, gap from r where gap is not null",
    "cox": "using time_to_event predict v with (event = two, hidden_units = [4], epochs = 3, random_state = 1) as select a, b, k, v, two from r",
}
for name, text in TRAININGS.items():
    cur.execute(f"train model {name} {text}")

names = [c.name for c in cur.execute("select * from r limit 0").description]
table = {c: [row[i] for row in rows("select * from r order by n")] for i, c in enumerate(names)}
epoch = pd.Timestamp("1970-01-01")


def feed(sess):
    """The columns as a graph takes them."""
    out = {}
    for i in sess.get_inputs():
        col = table[i.name]
        if "string" in i.type:
            out[i.name] = np.array([["" if v is None else str(v).lower() if isinstance(v, bool) else v] for v in col], dtype=object)
        elif i.name == "t":
            out[i.name] = np.array([[(pd.Timestamp(v) - epoch) / pd.Timedelta("1D")] for v in col])
        elif i.name == "arr":
            out[i.name] = np.array(col, dtype=float)
        else:
            out[i.name] = np.array([[np.nan if v is None else float(v)] for v in col])
    return out


def close(got, want, tolerance, what):
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    worst = np.max(np.abs(got - want) / np.maximum(1, np.abs(want)))
    assert worst <= tolerance, (what, worst)
    return worst


def probabilities(name):
    """A row's probabilities of the classes; of two, predict_proba has that of the second."""
    got = [x[0] for x in rows(f"select predict_proba('{name}', r) from r order by n")]
    return [x if isinstance(x, list) else [1 - x, x] for x in got]


for name in TRAININGS:
    sess = ort.InferenceSession(export(name, "onnx"), providers=["CPUExecutionProvider"])
    outs = {o.name: v for o, v in zip(sess.get_outputs(), sess.run(None, feed(sess)))}
    # A net computes in float32 in another order.
    tolerance = 2e-5 if name in ("net", "net_gelu", "net_two", "coder", "cox") else 1e-6
    if name == "pair":
        both = rows("select p[1], p[2] from (select n, predict('pair', r) as p from r) q order by n")
        for i, k in enumerate(("v", "gap")):
            close(outs[f"variable_{k}"][:, 0], [x[i] for x in both], tolerance, name)
        continue
    got = [x[0] for x in rows(f"select predict('{name}', r) from r order by n")]
    if "probabilities" in outs:
        proba = probabilities(name)
        close(outs["probabilities"], proba, tolerance, name)
        labels = [str(x).lower() for x in outs["label"]]
        differ = [i for i, x in enumerate(got) if str(x).lower() != labels[i]]
        # A class may differ where two are equally likely but for float32.
        assert all(np.diff(np.sort(proba[i]))[-1] < 1e-6 for i in differ), (name, len(differ))
    elif "distance" in outs:
        assert list(outs["label"]) == got, name
        close(outs["distance"], [x[0] for x in rows(f"select distance from ml.predict('{name}', (select * from r order by n))")], tolerance, name)
    elif outs["variable"].shape[1] > 1:
        close(outs["variable"], got, tolerance, name)
    else:
        close(outs["variable"][:, 0], got, tolerance, name)

frame = pd.DataFrame({c: table[c] for c in ("a", "b", "gap", "k", "flag", "code")})
frame["a"] = frame["a"].astype(float)
frame["gap"] = frame["gap"].astype(float)


def prepared(fmt, data):
    """The frame with the categories of a file."""
    out = frame.copy()
    out["flag"] = out["flag"].map({True: "true", False: "false"})
    return out


def predictions(name):
    if name.endswith("kind"):
        return probabilities(name)
    if name.endswith("two"):
        return [p[1] for p in probabilities(name)]
    return [x[0] for x in rows(f"select predict('{name}', r) from r order by n")]


for name in ("boosted", "boosted_two", "boosted_kind", "forest", "forest_two", "forest_kind"):
    want = predictions(name)
    text = export(name, "lightgbm_text").decode()
    m = lgb.Booster(model_str=text)
    cats = iter(m.pandas_categorical)
    f = prepared("lgb", text)
    for c in ("k", "flag"):
        f[c] = pd.Categorical(f[c], categories=next(cats))
    close(m.predict(f), want, 1e-12, name + " in LightGBM")
    if name in ("forest_two", "forest_kind"):
        continue
    path = os.path.join(tmp, name + ".json")
    with open(path, "wb") as out:
        out.write(export(name, "xgboost_json"))
    m = xgb.Booster(model_file=path)
    f = prepared("xgb", None)
    order = {"k": sorted(set(f["k"].dropna())), "flag": ["false", "true"]}
    for c in ("k", "flag"):
        f[c] = pd.Categorical(f[c], categories=order[c])
    close(m.predict(xgb.DMatrix(f, enable_categorical=True)), want, 2e-6, name + " in XGBoost")

# What others wrote.
X = frame[["a", "gap"]].to_numpy(dtype=np.float32)
full = np.nan_to_num(X)
y, kind = np.array(table["v"], dtype=np.float32), np.array(table["kind"])
m = xgb.train({"max_depth": 4}, xgb.DMatrix(pd.DataFrame(X, columns=["a", "gap"]), label=y), 10)
bring("x", bytes(m.save_raw("json")))
close([v[0] for v in rows("select predict('x', r) from r order by n")], m.predict(xgb.DMatrix(pd.DataFrame(X, columns=["a", "gap"]))), 1e-6, "XGBoost's")
m = lgb.train({"objective": "multiclass", "num_class": 3, "verbose": -1}, lgb.Dataset(frame[["a", "gap"]], label=pd.factorize(kind, sort=True)[0]), 10)
bring("l", m.model_to_string().encode(), "with (classes = ['low', 'mid', 'top'], target = 'kind')")
close([v[0] for v in rows("select predict_proba('l', r) from r order by n")], m.predict(frame[["a", "gap"]]), 1e-12, "LightGBM's")
assert rows("select accuracy > 0.5 from ml.evaluate('l', (select * from r))")[0][0]
for name, m, label in (("f", RandomForestClassifier(10, random_state=1), kind), ("s", make_pipeline(StandardScaler(), LogisticRegression()), kind),
                       ("p", MLPRegressor(hidden_layer_sizes=(8,), max_iter=500, random_state=1), y)):
    m.fit(full, label)
    bring(name, to_onnx(m, full[:1]).SerializeToString(), "with (features = ['a', 'gap'])")
    of = "predict_proba" if label is kind else "predict"
    got = [v[0] for v in rows(f"select {of}('{name}', a => a::float4, gap => coalesce(gap, 0)::float4) from r order by n")]
    close(got, m.predict_proba(full) if label is kind else m.predict(full), 1e-5, "scikit-learn's " + name)

# The same model again, elsewhere or here.
for name in ("linear", "boosted_kind", "cox"):
    bring(name + "_again", export(name, "json"))
    assert rows(f"select count(distinct sha256) from ml.models where name in ('{name}', '{name}_again')")[0][0] == 1

path = os.path.join(tmp, "net.safetensors")
with open(path, "wb") as out:
    out.write(export("net", "safetensors"))
tensors = load_file(path)
assert any(t.shape[1:] == (8,) for t in tensors.values() if t.ndim == 2), {k: v.shape for k, v in tensors.items()}

cur.execute(f"drop schema {schema} cascade")
print("ok")
