// Package selfjson is the format json of model files: all that there is to know of a model. What people
// and programs want to read (options, metrics, encoders, classes, the shape of the predictor) is spelled
// out; what predicts again is the canonical bytes, in base64, so that a model that is read is the same
// model, to its hash.
//
// Tested by cluster/node (TestModelsAsJSON, TestModelFiles).
package selfjson
