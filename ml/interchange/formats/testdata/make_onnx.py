# Makes the files skl_*.onnx in this folder with skl2onnx, and sklearn.json: what scikit-learn predicts.
import json, sys
import numpy as np, pandas as pd
from skl2onnx import to_onnx, convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, DoubleTensorType, StringTensorType
from sklearn import (linear_model as lm, tree, ensemble as en, preprocessing as pp, pipeline as pl, neural_network as nn, compose, impute, svm, cluster, naive_bayes as nb,
                     decomposition as dc, neighbors, discriminant_analysis as da)
r = np.random.default_rng(5)
n = 120
X = r.normal(size=(n, 4)).round(2).astype(np.float32)
y = (X[:, 0] * 2 - X[:, 1] + .3 * X[:, 2] ** 2 + r.normal(size=n) * .1).astype(np.float32)
two = (y > 0).astype(int)
three = np.array(["low", "mid", "top"])[np.digitize(y, [-1, 1])]
out, failed = {}, []
def keep(name, cols, rows, pred):
    out[name] = {"columns": cols, "rows": rows, "predict": np.asarray(pred, dtype=float).tolist()}
def predict(m, A):
    if hasattr(m, "predict_proba"): return m.predict_proba(A)
    if hasattr(m, "classes_"): return (np.asarray(m.predict(A))[:, None] == m.classes_[None, :]).astype(float)
    return m.predict(A)
def plain(name, m, label, **o):
    m.fit(X, label)
    f = "skl_" + name + ".onnx"
    try:
        on = to_onnx(m, X[:1], **o)
    except Exception as e:
        failed.append((name, e)); return
    open(f, "wb").write(on.SerializeToString())
    keep(f, ["X%d" % i for i in range(4)], [[float(v) for v in row] for row in X[:20]], predict(m, X[:20]))
def zipless(m): return {"options": {id(m): {"zipmap": False}}}
plain("linear", lm.LinearRegression(), y)
plain("ridge_std", pl.make_pipeline(pp.StandardScaler(), lm.Ridge()), y)
plain("logistic", lm.LogisticRegression(), two)
plain("logistic_three", pl.make_pipeline(pp.StandardScaler(), lm.LogisticRegression()), three)
plain("sgd", lm.SGDClassifier(loss="log_loss", random_state=1), three)
plain("poisson", lm.PoissonRegressor(), np.abs(y))
plain("tree", tree.DecisionTreeRegressor(max_depth=4), y)
plain("tree_three", tree.DecisionTreeClassifier(max_depth=3), three)
plain("forest", en.RandomForestRegressor(4, max_depth=4, random_state=1), y)
plain("forest_three", en.RandomForestClassifier(4, max_depth=3, random_state=1), three)
plain("extra_two", en.ExtraTreesClassifier(4, max_depth=3, random_state=1), two)
plain("gb", en.GradientBoostingRegressor(n_estimators=5), y)
plain("gb_two", en.GradientBoostingClassifier(n_estimators=5), two)
plain("gb_three", en.GradientBoostingClassifier(n_estimators=4), three)
plain("hist", en.HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=5, min_samples_leaf=5), y)
plain("hist_two", en.HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5, min_samples_leaf=5), two)
m = nn.MLPRegressor(hidden_layer_sizes=(5,), max_iter=300, random_state=1); plain("mlp", m, y)
m = nn.MLPClassifier(hidden_layer_sizes=(5, 3), activation="tanh", max_iter=300, random_state=1); plain("mlp_three", m, three)
m = nn.MLPClassifier(hidden_layer_sizes=(4,), activation="logistic", max_iter=300, random_state=1); plain("mlp_two", m, two, **zipless(m))
plain("minmax", pl.make_pipeline(pp.MinMaxScaler(), pp.PolynomialFeatures(2), lm.Lasso(alpha=.01)), y)
plain("robust", pl.make_pipeline(pp.RobustScaler(), pp.Normalizer(), lm.LogisticRegression()), three)
plain("gnb", nb.GaussianNB(), three)
plain("lda", da.LinearDiscriminantAnalysis(), three)
plain("pca_logistic", pl.make_pipeline(dc.PCA(2), lm.LogisticRegression()), two)
plain("kmeans", cluster.KMeans(3, n_init=1, random_state=1), y)
plain("calibrated", __import__("sklearn.calibration").calibration.CalibratedClassifierCV(lm.LogisticRegression(), cv=2), two)
plain("voting", en.VotingClassifier([("a", lm.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=2))], voting="soft", flatten_transform=False), two)
plain("ada", en.AdaBoostClassifier(n_estimators=3, random_state=1), two)
# A pipeline over named columns of several types.
a = r.normal(size=n).astype(np.float32); a[::7] = np.nan
k = r.choice(["blue", "green", "red"], n); c = r.choice(["x", "y"], n)
df = pd.DataFrame({"a": a, "b": X[:, 1], "k": k, "c": c})
t = np.where(np.isnan(a), 0, a) + df.b + (k == "red") * 2 - (c == "x")
pre = lambda: compose.ColumnTransformer([("n", pl.make_pipeline(impute.SimpleImputer(), pp.StandardScaler()), ["a", "b"]), ("k", pp.OneHotEncoder(handle_unknown="ignore"), ["k", "c"])])
types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("k", StringTensorType([None, 1])), ("c", StringTensorType([None, 1]))]
def columns(name, m, label):
    m.fit(df, label)
    on = convert_sklearn(m, initial_types=types)
    f = "skl_" + name + ".onnx"
    open(f, "wb").write(on.SerializeToString())
    some = df.head(20).copy()
    some.loc[3, "k"] = "never seen"
    rows = [[None if pd.isna(v) else (float(v) if not isinstance(v, str) else v) for v in row] for row in some.itertuples(index=False)]
    keep(f, list(df.columns), rows, predict(m, some))
columns("columns_ridge", pl.make_pipeline(pre(), lm.Ridge()), t)
columns("columns_logistic", pl.make_pipeline(pre(), lm.LogisticRegression()), np.where(t > 0.5, "yes", "no"))
columns("columns_forest", pl.make_pipeline(pre(), en.RandomForestClassifier(4, max_depth=4, random_state=1)), np.where(t > 0.5, "yes", "no"))
json.dump(out, open("sklearn.json", "w"), separators=(",", ":"))
for f in failed: print(*f)
