// Package feature turns columns into the numbers that models learn from, with
// encoders that are fitted once on the training rows and kept with the model.
//
//	Spec ── what each column is: feature, label, weight; which encoder
//	  │ Collect(leaf) ─▶ Stats            per leaf, merged by the reduce tree
//	  ▼
//	Fit(Spec, Stats) ─▶ Fitted            canonical bytes; part of the model
//	  │ EncodeLeaf          training      rows of a leaf ─▶ Block
//	  │ EncodeColumns       predicting    Arrow columns  ─▶ Block
//	  ▼
//	X dense │ codes of one-hot columns
//
// Where all features are numbers, CollectUnfitted makes the block along with the
// statistics, and Finish transforms it in place: rows are scattered over memory, and
// reading them takes most of the time before the first iteration. Where the rows'
// order means nothing, and there are no features but numbers and one-hot categories,
// an Intake makes blocks of the query's columns: each goroutine numbers categories in
// order of arrival, and the numbers are replaced by the model's once all categories
// are known.
//
// By default the type chooses the encoder, as in BigQuery ML:
//
//	numbers              mean for NULL, 1/0 indicator where NULLs occurred, standardised
//	text, enum, boolean  one-hot over the most frequent, NULL being one of them; a hash gives the others shared slots
//	date, timestamp      days since 1970 standardised; one-hot month, weekday (and hour)
//	arrays of numbers    as many standardised numbers; their length must not vary
//
// A one-hot column takes four bytes a row whatever the number of categories:
// blocks keep the code, and the kernels add the weight with that number.
//
// NULL and NaN at prediction are imputed; in training NaN and infinities are
// errors, since they are mostly mistakes in the data. A category that did not
// occur in training contributes nothing.
package feature
