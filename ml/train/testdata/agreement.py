"""Prints what agreement_test.go holds: scikit-learn's minima on the first 3000
rows of BenchmarkLogistic's data. Run: python agreement.py"""
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

rows, d = 3000, 28
state, mask, values = 42, (1 << 64) - 1, []
for _ in range(rows * (d + 1)):
    state = (state * 6364136223846793005 + 1442695040888963407) & mask
    values.append(((state ^ (1 << 63)) - (1 << 63) >> 11) * 2.0**-52)
u = np.array(values).reshape(rows, d + 1)
x = u[:, :d].astype(np.float32).astype(np.float64)
y = (x @ ((np.arange(d) % 7 - 3) / 2) + 2 * u[:, d] > 0).astype(int)
y[::3] = 1  # classes of unequal size
for name, c, scale, weight in (
    ("c = 1", 1.0, False, None),
    ("c = 0.01", 0.01, False, None),
    ("standardized", 1.0, True, None),
    ("balanced", 0.1, False, "balanced"),
):
    xs = StandardScaler().fit_transform(x) if scale else x
    m = LogisticRegression(C=c, class_weight=weight, solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(xs, y)
    w, b = m.coef_[0], float(m.intercept_[0])
    sw = np.ones(rows) if weight is None else (rows / (2 * np.bincount(y)))[y]
    z = xs @ w + b
    loss = np.sum(sw * (np.logaddexp(0, z) - y * z))
    print(f'{{"{name}", {loss / sw.sum():.15g}, {c * loss + 0.5 * w @ w:.15g}, []float64{{')
    for i in range(0, d + 1, 6):
        print("\t" + ", ".join(f"{v:.12g}" for v in [*w, b][i : i + 6]) + ",")
    print("}},")
