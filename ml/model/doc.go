// Package model is trained models: what kinds there are, their canonical bytes
// and how they score rows. It does not train.
//
//	Model   kind, fitted encoders, parameters
//	  │ Encode ─▶ bytes, whose SHA-256 names the model; Decode reads them back
//	  ▼
//	Scorer  columns ─▶ label or value, probabilities      any number of goroutines
//
// The bytes hold nothing but what scoring needs: no times, no names of nodes, no
// options. Training the same rows gives the same bytes.
//
// Parameters lie output by output: the weights of the dense columns, of the
// slots (package feature), and the intercept, which is 0 where none was fitted.
package model
