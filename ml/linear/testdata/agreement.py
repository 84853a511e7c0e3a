"""Prints the constants of agreement_test.go: what scikit-learn and statsmodels learn from 32 cars.

    pip install scikit-learn statsmodels
    python agreement.py
"""

import numpy as np
import statsmodels.api as sm
from sklearn import linear_model as lm, svm

# Motor Trend 1974 (Henderson and Velleman, "Building multiple regression models interactively", 1981):
# mpg, cylinders, horsepower, weight, quarter mile, manual, carburettors
cars = np.array([float(v) for v in """
21 6 110 2.62 16.46 1 4   21 6 110 2.875 17.02 1 4   22.8 4 93 2.32 18.61 1 1   21.4 6 110 3.215 19.44 0 1
18.7 8 175 3.44 17.02 0 2   18.1 6 105 3.46 20.22 0 1   14.3 8 245 3.57 15.84 0 4   24.4 4 62 3.19 20 0 2
22.8 4 95 3.15 22.9 0 2   19.2 6 123 3.44 18.3 0 4   17.8 6 123 3.44 18.9 0 4   16.4 8 180 4.07 17.4 0 3
17.3 8 180 3.73 17.6 0 3   15.2 8 180 3.78 18 0 3   10.4 8 205 5.25 17.98 0 4   10.4 8 215 5.424 17.82 0 4
14.7 8 230 5.345 17.42 0 4   32.4 4 66 2.2 19.47 1 1   30.4 4 52 1.615 18.52 1 2   33.9 4 65 1.835 19.9 1 1
21.5 4 97 2.465 20.01 0 1   15.5 8 150 3.52 16.87 0 2   15.2 8 150 3.435 17.3 0 2   13.3 8 245 3.84 15.41 0 4
19.2 8 175 3.845 17.05 0 2   27.3 4 66 1.935 18.9 1 1   26 4 91 2.14 16.7 1 2   30.4 4 113 1.513 16.9 1 2
15.8 8 264 3.17 14.5 1 4   19.7 6 175 2.77 15.5 1 6   15 8 335 3.57 14.6 1 8   21.4 4 109 2.78 18.6 1 2""".split()]).reshape(-1, 7)
mpg, cyl, hp, wt, qsec, manual, carb = cars.T
x = np.column_stack([hp / 100, wt, qsec])
x2 = x[:, [0, 2]]  # which do not tell manual cars apart entirely


def show(name, *parts):
    values = np.concatenate([np.ravel(p) for p in parts])
    print(f'\t"{name}": {{{", ".join(format(v, ".10g") for v in values)}}},')


def fit(name, model, y, features=x):
    m = model.fit(features, y)
    coef = np.atleast_2d(m.coef_)
    base = np.broadcast_to(m.intercept_, len(coef))
    show(name, *[np.append(c, b) for c, b in zip(coef, base)])


fit("linear", lm.LinearRegression(), mpg)
fit("ridge", lm.Ridge(alpha=2.0, tol=1e-12), mpg)
fit("lasso", lm.Lasso(alpha=0.5, tol=1e-14, max_iter=100000), mpg)
fit("elastic net", lm.ElasticNet(alpha=0.5, l1_ratio=0.3, tol=1e-14, max_iter=100000), mpg)
fit("huber", lm.HuberRegressor(epsilon=1.2, alpha=0.1, tol=1e-10, max_iter=10000), mpg)
fit("quantile", lm.QuantileRegressor(quantile=0.7, alpha=0), mpg)
fit("quantile l1", lm.QuantileRegressor(quantile=0.3, alpha=0.2), mpg)
fit("poisson", lm.PoissonRegressor(alpha=0.1, tol=1e-12, max_iter=10000), carb)
fit("gamma", lm.GammaRegressor(alpha=0.01, tol=1e-12, max_iter=10000), mpg)
fit("tweedie", lm.TweedieRegressor(power=1.5, alpha=0.01, tol=1e-12, max_iter=10000), mpg)
fit("logistic", lm.LogisticRegression(C=2.0, tol=1e-12, max_iter=100000), manual)
fit("logistic l1", lm.LogisticRegression(C=1.0, l1_ratio=1, solver="saga", tol=1e-12, max_iter=1000000), manual)
fit("logistic net", lm.LogisticRegression(C=1.0, l1_ratio=0.4, solver="saga", tol=1e-12, max_iter=1000000), manual)
fit("multinomial", lm.LogisticRegression(C=0.5, tol=1e-12, max_iter=100000), cyl)
# LinearSVC penalises its intercept: without one it has the same objective.
fit("svm", svm.LinearSVC(C=0.3, fit_intercept=False, tol=1e-12, max_iter=10000000), manual)
fit("svm of three", svm.LinearSVC(C=0.01, fit_intercept=False, tol=1e-12, max_iter=10000000), cyl)

print()
families = sm.families
log = families.links.Log()
for name, y, family, features, off in (
        ("linear", mpg, None, x, None),
        ("logistic", manual, families.Binomial(), x2, None),
        ("poisson", carb, families.Poisson(), x, None),
        ("poisson offset", carb, families.Poisson(), x2, np.log(hp)),
        ("gamma", mpg, families.Gamma(log), x, None),
        ("tweedie", mpg, families.Tweedie(log, var_power=1.5), x, None)):
    design = np.column_stack([features, np.ones(len(y))])
    m = sm.OLS(y, design).fit() if family is None else sm.GLM(y, design, family, offset=off).fit(tol=1e-14, maxiter=1000)
    show(name, m.params, m.bse, m.pvalues)
