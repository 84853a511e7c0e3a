package main

import (
	"fmt"
	"strings"
)

// modelTables have columns of each kind, and few rows as often as many.
func (g *generator) modelTables() []string {
	g.edges.rows = []int{0, 1, 2, 3, 20, 300}[g.r.IntN(6)]
	return []string{fmt.Sprintf("CREATE TABLE cases AS SELECT i, i / 20 AS p, chr(97 + i %% 5) AS t1, CASE WHEN i %% 4 <> 0 THEN 'w' || i %% 7 END AS t2, 'same'::text AS t3, i %% 2 = 0 AS b1, CASE WHEN i %% 3 <> 0 THEN i %% 7 < 3 END AS b2, true AS b3, "+
		"1.5::float8 AS c1, 7 AS c2, NULL::float8 AS n1, NULL::text AS n2, NULL::boolean AS n3, (i %% 11)::float8 AS x1, i %% 6 - 3 AS x2, (i %% 5 + 1)::float8 AS y1, 3.0::float8 AS y2, NULL::float8 AS y3, chr(120 + i %% 2) AS k1, 'one'::text AS k2, "+
		"i %% 3 = 0 AS k3 FROM generate_series(1, %d) i", g.edges.rows)}
}

// training returns a trial of a model over features of one kind, or constant, or NULL:
// parts are the training and the rows to predict.
func (g *generator) training() trial {
	features := strings.Split(g.pick([]string{"t1", "t1,t2", "t2", "t3", "b1", "b1,b2", "b2", "b3", "c1", "c2", "c1,c2", "n1", "n2", "n3", "n1,n2,n3", "t1,b1", "t1,n1", "x1,c1", "x1", "x2", "x1,n1,t1,b2", "t3,b3,c1"}), ",")
	family := g.pick([]string{"linear_regression", "ridge", "lasso", "elastic_net", "huber_regression", "quantile_regression", "poisson_regression", "gamma_regression", "tweedie_regression",
		"logistic_regression", "linear_svm", "gradient_boosted_trees", "random_forest", "kmeans", "pca", "svd", "mlp", "autoencoder", "lstm", "lstm_autoencoder", "time_to_event"})
	target := g.pick([]string{"y1", "y1", "y1", "y2", "y3"})
	var options []string
	switch family {
	case "logistic_regression", "linear_svm":
		target = g.pick([]string{"k1", "k1", "k2", "k3"})
	case "gradient_boosted_trees", "random_forest":
		target, options = g.pick([]string{"y1", "y2", "y3", "k1", "k2", "k3"}), []string{"n_estimators = 3"}
	case "kmeans":
		target, options = "", []string{fmt.Sprintf("n_clusters = %d", 1+g.r.IntN(3))}
	case "pca", "svd":
		target, options = "", []string{"n_components = 1"}
	case "autoencoder":
		target, options = "", []string{"epochs = 1"}
	case "mlp":
		target, options = g.pick([]string{"y1", "y2", "y3", "k1", "k2", "k3"}), []string{"epochs = 2"}
	case "lstm", "lstm_autoencoder":
		options = []string{"epochs = 1", "units = 3", "window = 4", "order_by = i", "partition_by = p"}
		if family == "lstm_autoencoder" {
			target = ""
		}
	case "time_to_event":
		target, options = "y1", []string{"event = k3"}
	}
	if g.chance(25) {
		options = append(options, "eval_fraction = 0.3")
	}
	list := features
	sql := "USING " + family
	if target != "" {
		sql += " PREDICT " + target
		list = append(list, target)
	}
	if len(options) > 0 {
		sql += " WITH (" + strings.Join(options, ", ") + ")"
	}
	switch family {
	case "time_to_event":
		list = append(list, "k3")
	case "lstm", "lstm_autoencoder":
		list = append(list, "i", "p")
	}
	rows := "SELECT " + strings.Join(list, ", ") + " FROM cases" + g.pick([]string{"", "", "", " WHERE i = 1", " WHERE i <= 2", " WHERE false"})
	return trial{kind: "training", parts: []string{sql + " AS " + rows, rows}}
}

// trainings are the requests of such a trial: two trainings, what the model says of its
// rows, and how many models there are by their bytes.
func trainings(parts []string) []string {
	rows := "count(*) FROM (" + parts[1] + ") q"
	if strings.HasPrefix(parts[0], "USING lstm") { // a row without a whole window before it has no prediction
		rows = "coalesce(sum(greatest(n - 3, 0)), 0) FROM (SELECT count(*) AS n FROM (" + parts[1] + ") q GROUP BY p) w"
	}
	return []string{
		"TRAIN OR REPLACE MODEL first_of_two " + parts[0], "TRAIN OR REPLACE MODEL second_of_two " + parts[0],
		"SELECT (SELECT " + rows + "), count(*) FROM ml.predict('first_of_two', (" + parts[1] + "))",
		"SELECT count(*), count(DISTINCT sha256) FROM ml.models WHERE schema = current_schema() AND name IN ('first_of_two', 'second_of_two')",
		"DROP MODEL IF EXISTS first_of_two", "DROP MODEL IF EXISTS second_of_two",
	}
}

// judgeTraining: rows give a model, always the same one, which predicts each of them; or
// an error that says what is wrong with them.
func judgeTraining(answers []*answer) (v verdict) {
	first, second, predicted, models := answers[0], answers[1], answers[2], answers[3]
	switch {
	case first.code == "57014" || resource(first.code) || resource(second.code) || resource(predicted.code):
		v.allowed = "resources"
	case first.code != second.code:
		v.failure = "two trainings end differently"
	case first.code != "" && first.code[:2] != "22" && first.code != "0A000":
		v.failure = "a training fails with " + first.code
	case first.failed():
		v.allowed = "no model: " + first.code
	case predicted.failed():
		v.failure = "a model does not predict its own rows: " + predicted.code
	case predicted.rows[0][0] != predicted.rows[0][1]:
		v.failure = "a prediction has another number of rows"
	case models.failed() || models.rows[0][0].text != "2" || models.rows[0][1].text != "1":
		v.failure = "two trainings give other bytes"
	}
	return v
}
