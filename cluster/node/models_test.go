package node

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const flowers = `create table flowers as select (i % 3)::int4 as kind, i % 2 = 0 as even, (((i * 37) % 101) / 10.0 + (i % 3) * 4)::float8 as a,
	(((i * 53) % 97) / 20.0 - (i % 3))::float8 as b, case i % 4 when 0 then 'red' when 1 then 'blue' when 2 then null else 'green' end as colour,
	(i % 7 + 1)::float8 as w from generate_series(1, 3000) i`

// one returns the only value of a query.
func (c *client) one(sql string) string {
	c.t.Helper()
	rows := c.must(sql)
	if len(rows) != 1 {
		c.t.Fatalf("%s gives %d rows", sql, len(rows))
	}
	return rows[0]
}

func (c *client) number(sql string) float64 {
	c.t.Helper()
	f, err := strconv.ParseFloat(c.one(sql), 64)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return f
}

// TestModels uses models through SQL as the manual describes. Models trained on one node and on three
// are the same.
func TestModels(t *testing.T) {
	var hashes [][]string
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[n-1], spread)
		c.must(flowers)
		c.must("train model kinds using logistic_regression predict kind with (l2_reg = 0.1, data_split_eval_fraction = 0.2) as select kind, a, b, colour from flowers")
		c.must("train model twos using logistic_regression predict even with (optimizer = 'adam', epochs = 3, batch_size = 100, weight = w) as select even, a, b, w from flowers")
		c.must("train model line using linear_regression predict a transform (ml.standard_scaler(b), ml.one_hot_encoder(colour)) as select * from flowers")
		c.must("create model grouped options (model_type = 'linear_reg', input_label_cols = ['s']) as select colour, avg(b) as m, sum(a * 0.1) as s from flowers group by colour, kind, even, w")
		c.must("train model trees using gradient_boosted_trees predict kind with (n_estimators = 5, data_split_eval_fraction = 0.2) as select kind, a, b, colour from flowers")
		c.must("train model forest using random_forest predict a with (n_estimators = 4, max_depth = 5) as select a, b, colour from flowers")
		c.must("train model groups using kmeans with (n_clusters = 3) as select a, b, colour from flowers")
		c.must("train model axes using pca with (n_components = 2) as select a, b, w from flowers")
		c.must("train model turns using svd with (n_components = 2, solver = 'tsqr') as select a, b, w from flowers")
		c.must("train model net using mlp predict kind with (hidden_units = [16, 8], epochs = 5, data_split_eval_fraction = 0.2, dropout = 0.1) as select kind, a, b, colour from flowers")
		c.must("train model again using autoencoder with (hidden_units = [4, 2, 4], epochs = 3) as select a, b, colour from flowers")
		c.must("train model times using time_to_event predict b with (event = even, hidden_units = [4], max_iterations = 10) as select abs(b) as b, even, a, colour from flowers")
		c.must("train model few using lasso predict a with (alpha = 0.1) as select a, b, colour, w from flowers")
		c.must("train model elastic using elastic_net predict a with (alpha = 0.1, l1_ratio = 0.7, weight = w) as select a, b, colour, w from flowers")
		c.must("train model tough using huber_regression predict a as select a, b, colour from flowers")
		c.must("train model high using quantile_regression predict a with (quantile = 0.9) as select a, b, colour from flowers")
		c.must("train model counts using poisson_regression predict kind with (offset = logw, calculate_p_values = true) as select kind, a, b, ln(w) as logw from flowers")
		c.must("train model amounts using tweedie_regression predict kind with (power = 1.3) as select kind, a, b from flowers")
		c.must("train model sizes using gamma_regression predict w with (l1_reg = 0.001) as select w, a, b from flowers")
		c.must("train model machine using linear_svm predict kind with (c = 0.1) as select kind, a, b, colour from flowers")
		c.must("train model folds using logistic_regression predict kind with (cross_validation = 4, max_iterations = 5, weight = w) as select kind, a, b, colour, w from flowers")
		c.must("train model parted using linear_regression predict a with (cv_folds = 3) as select a, b, colour from flowers, generate_series(1, 3)")
		c.must("train model errors using logistic_regression predict even with (calculate_p_values = true) as select even, a, b from flowers")
		hashes = append(hashes, c.must("select name || ' ' || sha256 || ' ' || task || metrics from ml.models order by 1"))

		// Models without a target.
		if got := c.one("select count(distinct predict('groups', f)) from flowers f where predict('groups', f) between 1 and 3"); got != "3" {
			t.Errorf("%s clusters", got)
		}
		if got := c.one("select count(*) from ml.predict('groups', (select * from flowers)) where cluster between 1 and 3 and distance >= 0"); got != "3000" {
			t.Errorf("%s rows with a cluster and a distance", got)
		}
		if got := c.one("select count(*) from ml.predict('axes', (select * from flowers)) where array_length(components, 1) = 2"); got != "3000" {
			t.Errorf("%s rows with two components", got)
		}
		if got := c.one("select count(*) from ml.centroids('groups')") + c.one("select count(*) from ml.components('axes')") + c.one("select count(*) from ml.explained_variance_ratio('turns')"); got != "1862" {
			t.Errorf("%s rows of centroids, components and ratios", got)
		}
		// Each row has a survival curve over all times of events, which never rises.
		const curves = "ml.survival('times', (select row_number() over () as i, a, colour from flowers limit 50))"
		if got := c.one("select count(*) from (select *, lag(survival) over (partition by i order by time) as before from " + curves + ") s where survival > before or survival not between 0 and 1"); got != "0" {
			t.Errorf("%s steps up", got)
		}
		if got, want := c.one("select min(n) || ' ' || max(n) from (select count(*) as n from "+curves+" s group by s.i) x"), c.one("select count(distinct abs(b)) || ' ' || count(distinct abs(b)) from flowers where even"); got != want {
			t.Errorf("curves of %s times, not of %s", got, want)
		}
		for _, sql := range []string{"select * from ml.survival('trees', (select * from flowers))",
			"select * from ml.evaluate('axes', (select * from flowers))", "select predict_proba('groups', f) from flowers f", "select * from ml.weights('trees')"} {
			if _, err := c.do(sql); !pgerr.Is(err, pgerr.WrongObjectType) {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if got := c.number("select accuracy from ml.evaluate('net', (select * from flowers))"); got < 0.6 {
			t.Errorf("the net is right in %v", got)
		}
		if got := c.one("select count(*) from ml.predict('again', (select * from flowers)) where array_length(reconstruction, 1) >= 3 and reconstruction_error >= 0"); got != "3000" {
			t.Errorf("%s rows that came back", got)
		}
		// An offset has no weight, as it is not a feature, but a prediction needs it.
		if got := c.one("select string_agg(feature, ',' order by feature) from ml.weights('counts') where std_error > 0 and p_value between 0 and 1"); got != "(intercept),a,b" {
			t.Errorf("weights with errors: %s", got)
		}
		if got := c.number(`select max(abs(predict('counts', a => a, b => b, logw => ln(w) + 1) / predict('counts', a => a, b => b, logw => ln(w)) - exp(1.0))) from flowers`); got > 1e-9 {
			t.Errorf("an offset more by 1 multiplies the prediction by e, but for %v", got)
		}
		if _, err := c.do("select predict('counts', a => 1, b => 1)"); !pgerr.Is(err, pgerr.UndefinedColumn) {
			t.Errorf("a prediction without the offset: %v", err)
		}
		if _, err := c.do("train model m using poisson_regression predict b as select a, b from flowers"); !pgerr.Is(err, pgerr.NumericValueOutOfRange) || !strings.Contains(err.Error(), `"b" has negative values`) {
			t.Errorf("counts below 0: %v", err)
		}
		if got := c.one("select count(*) from ml.weights('few') where std_error is not null or statistic is not null or p_value is not null"); got != "0" {
			t.Errorf("%s weights under a penalty have errors", got)
		}
		if got := c.number("select avg(case when a <= predict('high', f) then 1.0 else 0 end) from flowers f"); math.Abs(got-0.9) > 0.01 {
			t.Errorf("%v of rows are below the 0.9 quantile", got)
		}
		if got := c.number("select accuracy from ml.evaluate('trees', (select * from flowers))"); got < 0.6 {
			t.Errorf("the trees are right in %v", got)
		}
		if got := c.one(`select count(*) from ml.explain_predict('forest', (select * from flowers)) p where abs(prediction_value - predicted_a) < 1e-9 and
			abs(baseline_prediction_value + (select sum((x->>'attribution')::float8) from jsonb_array_elements(top_feature_attributions) x) - predicted_a) < 1e-9`); got != "3000" {
			t.Errorf("the parts of %s predictions of 3000 of the forest add up", got)
		}

		if got := c.one("select count(*) from flowers f where predict('kinds', f) = kind"); got < "2000" {
			t.Errorf("only %s of 3000 are right", got)
		}
		if got := c.one("select count(*) from (select predict_proba('kinds', f) p from flowers f) x where abs(p[1] + p[2] + p[3] - 1) < 1e-12 and array_length(p, 1) = 3"); got != "3000" {
			t.Errorf("%s rows have three probabilities that add to one", got)
		}
		if got := c.one("select count(*) from flowers f where predict('line', b => b, colour => colour) <> predict('line', f)"); got != "0" {
			t.Errorf("%s predictions differ by how features are named", got)
		}
		// A category of type char(n) equals the text without trailing blanks.
		c.must("train model plain using logistic_regression predict kind as select kind::text, a, colour from flowers")
		c.must("train model padded using logistic_regression predict kind as select kind::char(9), a, colour::char(12) from flowers")
		if got := c.one("select count(distinct sha256) from ml.models where name in ('plain', 'padded')"); got != "1" {
			t.Errorf("models of text and of char(n) are %s models", got)
		}
		if got := c.one("select count(*) from flowers f where predict('padded', a => a, colour => colour::char(20)) <> predict('plain', f)"); got != "0" {
			t.Errorf("%s predictions differ by the length of a column", got)
		}
		byHand := c.number("select accuracy(kind, predict('kinds', f)) from flowers f")
		if got := c.number("select accuracy from ml.evaluate('kinds', (select * from flowers))"); got != byHand {
			t.Errorf("accuracy is %v and %v", got, byHand)
		}
		if got := c.number("select sum(count) from ml.confusion_matrix('kinds', (select * from flowers)) where expected_label = predicted_label"); math.Round(byHand*3000) != got {
			t.Errorf("the confusion matrix has %v right, not %v", got, byHand*3000)
		}
		// roc_auc is the area under the ROC curve by the trapezoidal rule.
		area := c.number(`select sum((x - px) * (y + py) / 2) from (select false_positive_rate x, recall y, coalesce(lag(false_positive_rate) over w, 0) px,
			coalesce(lag(recall) over w, 0) py from ml.roc_curve('twos', (select * from flowers)) window w as (order by threshold desc)) c`)
		if got := c.number("select roc_auc from ml.evaluate('twos', (select * from flowers))"); got-area > 1e-9 || area-got > 1e-9 {
			t.Errorf("the area under the curve is %v, roc_auc %v", area, got)
		}
		if got := c.one("select count(*) from ML.PREDICT(MODEL kinds, (select a, b, colour from flowers limit 5)) where predicted_kind between 0 and 2"); got != "5" {
			t.Errorf("BigQuery's spelling gives %s rows", got)
		}
		// A prediction is the baseline plus its attributions.
		if got := c.one(`select count(*) from ml.explain_predict('line', (select * from flowers)) p where abs(prediction_value - predicted_a) < 1e-9 and
			abs(baseline_prediction_value + (select sum((x->>'attribution')::float8) from jsonb_array_elements(top_feature_attributions) x) - predicted_a) < 1e-9`); got != "3000" {
			t.Errorf("the parts of %s predictions of 3000 add up", got)
		}
		if got := c.one(`select count(*) from ml.explain_predict('twos', (select * from flowers)) p where abs(1 / (1 + exp(-prediction_value)) - predicted_even_proba) < 1e-9`); got != "3000" {
			t.Errorf("%s log-odds of 3000 give their probabilities", got)
		}
		if got := c.one(`select count(*) from ml.explain_predict('kinds', (select * from flowers)) p where jsonb_array_length(top_feature_attributions) = 3`); got != "3000" {
			t.Errorf("%s rows of 3000 have three attributions", got)
		}
		plan := strings.Join(c.must("explain analyze train model x using linear_regression predict a as select a, b from flowers"), "\n")
		for _, want := range []string{"Train linear_regression", "Rows: 3000 trained on", "Collect", "Seq Scan on flowers"} {
			if !strings.Contains(plan, want) {
				t.Errorf("EXPLAIN ANALYZE TRAIN says nothing of %q:\n%s", want, plan)
			}
		}
		if got := c.one("select count(*) from ml.models where name = 'x'"); got != "0" {
			t.Error("EXPLAIN ANALYZE kept its model")
		}

		// Models are transactional.
		c.must("begin")
		c.must("create table few as select * from flowers where a > 10")
		c.must("train model t using linear_regression predict a as select a, b from few")
		if got := c.number("select count(predict('t', f)) from few f"); got == 0 {
			t.Error("no predictions")
		}
		c.must("rollback")
		if _, err := c.do("select predict('t', b => 1.0)"); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Errorf("after a rollback: %v", err)
		}

		c.must("retrain model line as select * from flowers where a > 5")
		c.must("retrain model line")
		if got := c.must("select version, rows from ml.model_versions where name = 'line' order by 1"); len(got) != 3 || strings.TrimPrefix(got[1], "2|") != strings.TrimPrefix(got[2], "3|") {
			t.Errorf("versions %v", got)
		}
		// Each version has weights of its own.
		if one, other := c.must("select * from ml.weights('line', 1)"), c.must("select * from ml.weights('line', 3)"); slices.Equal(one, other) ||
			!slices.Equal(other, c.must("select * from ml.weights('line')")) {
			t.Errorf("weights of version 1 %v, of version 3 %v", one, other)
		}
		if _, err := c.do("select * from ml.weights('line', 9)"); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Errorf("weights of a version that there is not: %v", err)
		}
		// If no label is a class of the model, the wrong column was probably given: an error.
		for _, q := range []string{"select accuracy from ml.evaluate('kinds', (select a, b, colour, kind + 100 as kind from flowers))",
			"select roc_auc from ml.evaluate('twos', (select a, b, null::bool as even from flowers union all select a, b, null from flowers))"} {
			if _, err := c.do(q); strings.Contains(q, "null") != (err == nil) || err != nil && !pgerr.Is(err, pgerr.InvalidParameterValue) {
				t.Errorf("%s: %v", q, err)
			}
		}
		if got := c.one("select count(*) from ml.evaluate('kinds', (select a, b, colour, case when kind = 1 then 7 else kind end as kind from flowers)) where accuracy < 0.9"); got != "1" {
			t.Errorf("some labels that the model does not know: %s", got)
		}
		// Boolean labels are not checked, since both values are classes of such a model.
		for model, checked := range map[string]bool{"kinds": true, "twos": false} {
			if got := strings.Join(c.must("explain select * from ml.evaluate('"+model+"', (select * from flowers))"), "\n"); strings.Contains(got, "ml_check_labels") != checked {
				t.Errorf("labels of model %s are checked: %t\n%s", model, !checked, got)
			}
		}
		if got := c.one("select count(*) from ml.evaluate('twos', (select a, b, true as even from flowers)) e where accuracy = (select avg(predicted_even::int4) from ml.predict('twos', (select * from flowers)))"); got != "1" {
			t.Errorf("one label alone that the model knows: %s", got)
		}
		c.must("alter model line set default version 1")
		if got := c.one("select version from ml.models where name = 'line'"); got != "1" {
			t.Errorf("the default version is %s", got)
		}
		c.must("drop model kinds, twos, line, grouped, trees, forest, groups, axes, turns, net, again, times, plain, padded, few, elastic, tough, high, counts, amounts, sizes, machine, errors, folds, parted")
		if got := c.one("select count(*) from ml.models"); got != "0" {
			t.Errorf("%s models are left", got)
		}
	}
	if last := hashes[len(hashes)-1]; !slices.Equal(hashes[0], last) {
		t.Errorf("one node:\n%s\nthree nodes:\n%s", strings.Join(hashes[0], "\n"), strings.Join(last, "\n"))
	}
}
