// Package model is trained models: their canonical bytes and how they score
// rows. It does not train, and knows of what was learnt no more than a
// family.Predictor says.
//
//	Model   family, task, outputs, fitted encoders, predictor
//	  │ Encode ─▶ bytes, whose SHA-256 names the model; Decode reads them back
//	  ▼
//	Scorer  columns ─▶ label or value, probabilities      any number of goroutines
//
// The bytes hold nothing but what scoring needs: no times, no names of nodes, no
// options. Training the same rows gives the same bytes.
package model
