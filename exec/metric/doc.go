// Package metric has the states of metrics of predictions, for SQL's aggregates and
// for the evaluation of models alike. Every metric is a state with three moves:
//
//	Add    a row: truth, prediction, weight
//	Merge  another state, of other rows
//	…      a method that gives the metric of all rows so far
//
// States have canonical bytes (Append, Decode). The metrics are those of scikit-learn,
// with its conventions for the cases that divide by zero: such a precision, recall or
// F1 is 0.
//
//	Matrix      counts by true and predicted class: accuracy, precision, recall, F1
//	Regression  absolute and squared errors, R², explained variance
//	LogLoss     cross-entropy of probabilities of weighted rows
//	Ranking     weights by score: the exact area under the ROC curve
//	Cuts, Bins  of many rows: a sample of scores, and a coarse ranking by them
//
// The sums and counts of pairs below them are exec/kernel/exact and exec/kernel/pairs.
// Some aggregates have no more than those: SQL's log_loss an exact.Losses, as its rows
// have no weights, roc_auc lists of scores that are counted in pairs, and both concordance
// indexes their rows.
package metric
