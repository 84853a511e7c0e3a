// Package interchange has what the formats of model files share: a File is a model with what the
// catalog says of it, and a Format writes and reads one as bytes.
//
//	catalog ─┐                                        ┌─ selfjson      all of it, lossless
//	         ├─ File ─ Fitted (encoders) + shape ─────┼─ onnx
//	model ───┘         what a predictor computes      ├─ xgboost, lightgbm
//	                                                  └─ safetensors, pmml
//
// Formats know encoders (ml/feature) and shapes (ml/shape), families know shapes, and neither knows
// the other. What is read from a foreign format is a model of the family in ml/imported. Package
// formats has the list.
//
// Tested by ml/interchange/formats, cluster/node/testdata/models.
package interchange
