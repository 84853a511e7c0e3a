// Package metric measures predictions. Every metric is a state with three
// moves, so that SQL aggregates and the reduce tree of training can use the
// same one:
//
//	Add    a row: truth, prediction, weight
//	Merge  another state, of other rows
//	…      a method that gives the metric of all rows so far
//
// States have a canonical encoding. The metrics are those of scikit-learn,
// with its conventions for the cases that divide by zero: such a precision,
// recall or F1 is 0.
//
//	Matrix      counts by true and predicted class: accuracy, precision, recall, F1
//	Ranking     weights by score: the exact area under the ROC curve, its points
//	Cuts, Bins  of many rows: a sample of scores, and a coarse ranking by them
//	LogLoss     cross-entropy of probabilities
//	Regression  absolute and squared errors, R²
//	Concordance of survival models: Harrell's concordance index (1982)
package metric
