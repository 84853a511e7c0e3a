package site

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/docs"
)

// questions are what newcomers ask, in words of their own, and the how-to that answers.
var questions = map[string][]string{
	"csv-semicolons":      {"import excel file where the fields are separated by ;  semicolon", "my csv uses semicolons instead of commas"},
	"csv-odd-values":      {"german decimal commas and day.month.year dates in csv", "parse date format dd.mm.yyyy from text"},
	"parquet-load":        {"import a folder of parquet files into a table"},
	"query-file":          {"select from a csv directly, no import", "look inside a json file with sql"},
	"export":              {"save query results as csv", "download a table as parquet"},
	"from-postgres":       {"migrate my existing postgres database", "restore a pg_dump here"},
	"upsert":              {"insert on duplicate key update", "overwrite existing rows with same key"},
	"duplicates":          {"dedupe a table", "the same record appears twice"},
	"undo":                {"restore rows i removed by accident", "oops, wrong delete"},
	"training-set":        {"join two tables before training", "combine orders and customers into model features"},
	"container":           {"docker image", "deploy to kubernetes with helm"},
	"sample":              {"pick random subset of rows"},
	"table-size":          {"how much space does each table use"},
	"slow-query":          {"my select takes forever", "make a statement faster"},
	"running":             {"show active queries and their users", "list connected sessions"},
	"cancel":              {"kill a long running statement", "abort training job that hangs"},
	"limits":              {"restrict memory and time for a role", "query timeout per user"},
	"conflict":            {"could not serialize access due to concurrent update", "retry after serialization failure"},
	"out-of-memory":       {"error 53200", "statement needs too much ram"},
	"which-algorithm":     {"what model type should i choose", "random forest or logistic regression, which to pick"},
	"features":            {"one-hot encode a categorical column", "use strings and timestamps as model inputs"},
	"text-features":       {"text classification with tf-idf", "sentiment of reviews from words and n-grams"},
	"past-values":         {"lag and rolling average features", "yesterday's value as a model input"},
	"python-functions":    {"apply a python function to every row", "write a custom aggregate"},
	"pivot":               {"crosstab of rows into columns", "melt a wide table to long format"},
	"missing-values":      {"impute nulls before training", "training data has gaps and nan"},
	"tune-trees":          {"xgboost hyperparameters", "best depth and learning rate for gradient boosting"},
	"rare-classes":        {"imbalanced data fraud detection", "only one percent of my rows are positive", "pick a cutoff for the probability"},
	"holdout-time":        {"validate on the most recent month", "train on the past and test on the future"},
	"cross-validate":      {"5-fold cv score with standard deviation"},
	"overfitting":         {"good on training rows, bad on unseen ones", "early stopping when validation gets worse"},
	"not-converged":       {"warning ran out of iterations", "the loss became nan during training"},
	"compare-models":      {"which of my two models wins", "is the difference between two models significant"},
	"several-targets":     {"multi-output regression"},
	"one-model-per-group": {"train a separate model for each store", "thousands of models by key"},
	"anomalies":           {"detect outliers", "spot strange sensor readings"},
	"forecast":            {"time series prediction of tomorrow's demand"},
	"recommend":           {"recommendation engine for my shop", "collaborative filtering of movie ratings", "items similar to this one"},
	"how-many-clusters":   {"choose k for k-means", "customer segmentation groups"},
	"churn":               {"when will a subscriber cancel", "customer lifetime with censored data"},
	"probabilities":       {"predict_proba score between 0 and 1", "confidence of each prediction in percent"},
	"explain-prediction":  {"shap values for one row", "reason for a single decision"},
	"important-columns":   {"feature importance", "permutation importance and partial dependence", "which variables influence the result most"},
	"retrain":             {"refresh the model every night", "update model with fresh data"},
	"older-version":       {"roll back to the previous model", "undo a bad training"},
	"drift":               {"detect data drift in production", "has the distribution of my inputs changed"},
	"same-model":          {"is my training reproducible", "compare hashes of models"},
	"application":         {"serve predictions to a web app", "score a single record in real time from java"},
	"share-model":         {"give colleagues access to a trained model", "grant permission to use a model"},
	"model-out":           {"export weights as a file", "pickle or onnx of the trained model", "pmml for our scoring engine"},
	"tableau":             {"power bi connection", "odbc driver for a bi tool", "visualise with metabase"},
	"pandas":              {"read a table into a dataframe", "jupyter notebook connection"},
	"read-only":           {"account that can only select", "create reporting user who cannot write"},
	"password":            {"forgot the superuser password", "change login credentials"},
	"encrypt":             {"tls between client and server", "use https and ssl certificates"},
	"storage":             {"keep tables in a bucket", "start a cluster from the bucket"},
	"object-storage":      {"load parquet from an s3 bucket", "read from minio with an access key"},
	"backup":              {"dump everything and restore it later"},
	"disk-full":           {"no space left on device", "free up storage"},
	"upgrade":             {"install a newer release"},
	"add-node":            {"scale out with more machines", "join another server to the cluster"},
	"node-down":           {"one machine crashed", "a server of the cluster is offline"},
	"alerts":              {"prometheus monitoring rules", "health check for the load balancer"},
	"not-starting":        {"serve exits at boot", "server refuses to start"},
}

// TestQuestions: a question in other words than the title's finds its answer first, and so does the title.
func TestQuestions(t *testing.T) {
	asked := 0
	for _, s := range docs.Contents() {
		for _, p := range s.Pages {
			name, ok := strings.CutPrefix(strings.TrimSuffix(p.Path, ".md"), "howto/")
			if !ok {
				continue
			}
			if len(questions[name]) == 0 {
				t.Errorf("nobody asks for %s", p.Path)
			}
			for _, q := range append([]string{p.Title}, questions[name]...) {
				asked++
				hits, err := search(q, 3)
				if err != nil {
					t.Fatal(err)
				}
				if len(hits) == 0 || hits[0].Path != "howto/"+name {
					t.Errorf("%s: %q finds %+v", name, q, hits)
				}
			}
		}
	}
	if asked < 40+40 {
		t.Errorf("%d questions", asked)
	}
}
