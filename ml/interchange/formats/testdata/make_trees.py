# Makes the files of models in this folder with XGBoost and LightGBM, and expected.json: what they predict.
import json, sys
import numpy as np, pandas as pd
import xgboost as xgb, lightgbm as lgb
r = np.random.default_rng(7)
n = 120
a = r.normal(size=n).round(3); a[::9] = np.nan
b = r.integers(0, 7, n)
k = pd.Categorical.from_codes(r.integers(-1, 4, n), ["blue", "green", "red", "teal"])
base = np.where(np.isnan(a), 0.3, a) + 0.4 * b + np.array([0, 1, -1, .5, 2])[k.codes]
y = (base + r.normal(size=n) * .1).round(3)
two = (y > np.median(y)).astype(int)
three = np.digitize(y, np.quantile(y, [1/3, 2/3]))
num = pd.DataFrame({"a": a, "b": b.astype(float)})
cat = pd.DataFrame({"a": a, "b": b.astype(float), "k": k})
out = {}
def keep(name, frame, pred):
    rows = [[None if pd.isna(v) else v for v in row] for row in frame.head(40).itertuples(index=False)]
    out[name] = {"columns": list(frame.columns), "rows": rows, "predict": np.asarray(pred)[:40].astype(float).tolist()}
def x(name, frame, label, **p):
    d = xgb.DMatrix(frame, label=label, enable_categorical=True)
    m = xgb.train(dict(max_depth=3, eta=.5, seed=1, tree_method="hist", **p), d, 4)
    m.save_model(name); keep(name, frame, m.predict(d))
x("xgb_reg.json", num, y)
x("xgb_two.json", num, two, objective="binary:logistic", scale_pos_weight=2)
x("xgb_three.json", num, three, objective="multi:softprob", num_class=3)
x("xgb_poisson.json", num, np.abs(y).round(), objective="count:poisson")
x("xgb_cat.json", cat, y, max_cat_to_onehot=2)
x("xgb_onehot.json", cat, two, objective="binary:logistic", max_cat_to_onehot=9)
x("xgb_forest.json", num, y, num_parallel_tree=3, subsample=.7)
x("xgb_dart.json", num, y, booster="dart", rate_drop=.5)
def l(name, frame, label, **p):
    d = lgb.Dataset(frame, label=label)
    m = lgb.train(dict(num_leaves=6, learning_rate=.5, min_data_in_leaf=5, seed=1, verbose=-1, deterministic=True, min_data_per_group=5, cat_smooth=1, **p), d, 4)
    m.save_model(name); keep(name, frame, m.predict(frame))
l("lgb_reg.txt", num, y)
l("lgb_two.txt", num, two, objective="binary")
l("lgb_three.txt", num, three, objective="multiclass", num_class=3)
l("lgb_ova.txt", num, three, objective="multiclassova", num_class=3)
l("lgb_poisson.txt", num, np.abs(y).round(), objective="poisson")
l("lgb_cat.txt", cat, y, max_cat_to_onehot=2)
l("lgb_zero.txt", num, y, zero_as_missing=True)
l("lgb_nomissing.txt", num, y, use_missing=False)
l("lgb_forest.txt", num, y, boosting="rf", bagging_fraction=.7, bagging_freq=1)
json.dump(out, open("expected.json", "w"), separators=(",", ":"))
