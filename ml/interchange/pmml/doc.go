// Package pmml writes models as PMML 4.4 (the Predictive Model Markup Language of the Data Mining Group), XML
// that scoring engines read. The encoders are derived fields of the outermost model, so that a file takes the
// columns as they are in the table. A code, which is a category, an interval or a part of a date, is a derived
// field with the number of its slot, missing where there is none.
//
// Weights are a RegressionModel, clusters a ClusteringModel, nets a NeuralNetwork. Trees are a chain: for each
// margin the sum of its trees, and then a RegressionModel that makes numbers or probabilities of the margins.
// What predicts several numbers is a chain of models whose results are its outputs.
//
// Tested by ml/interchange/formats, cluster/node/testdata/models.
package pmml
