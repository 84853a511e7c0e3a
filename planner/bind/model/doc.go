// Package model binds the uses of trained models: predict and the like in expressions, and the
// relations that ml makes of a model and a query.
package model
