// Package model binds the uses of trained models: predict and the like in expressions, and the
// relations that ml makes of a model and a query.
//
// Tested by planner/bind/testdata/ml.txt, cluster/node/testdata/models.
package model
