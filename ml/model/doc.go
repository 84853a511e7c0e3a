// Package model implements trained models: their canonical encoding and how they score
// rows. It does not train, and knows no more of what was learnt than a family.Predictor
// provides.
//
//	Model   family, task, outputs, fitted encoders, predictor
//	  │ Encode ─▶ bytes, whose SHA-256 names the model; Decode reads them back
//	  ▼
//	Scorer  columns ─▶ label or value, probabilities      any number of goroutines
//
// The encoding has only what scoring needs: no times, no names of nodes, no options.
// Training on the same rows produces the same bytes.
package model
