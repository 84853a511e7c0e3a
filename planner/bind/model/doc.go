// Package model binds what reads trained models: predict and its kin in
// expressions, and the relations that ml makes of a model and a query.
package model
