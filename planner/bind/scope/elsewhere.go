package scope

// elsewhere says what of the schema ml has what functions of BigQuery ML have, whose names are not near enough.
var elsewhere = map[string]string{
	"advanced_weights":         "ml.weights('model') has standard errors and p-values.",
	"arima_coefficients":       "ml.weights('model') has the order and the coefficients.",
	"arima_evaluate":           "ml.weights('model') has the order and the coefficients, ml.evaluate('model') the AICc.",
	"explain_forecast":         "ml.forecast('model') has the forecast and its intervals, ml.weights('model') the parts of the model.",
	"feature_info":             "ml.describe_data((SELECT …)) describes columns, DESCRIBE MODEL a model's features.",
	"principal_component_info": "ml.explained_variance_ratio('model') has the shares of variance.",
	"principal_components":     "ml.components('model') has the directions.",
	"reconstruction_loss":      "ml.predict('model', (SELECT …)) has the error of each row.",
	"tfdv_describe":            "ml.describe_data((SELECT …)) describes columns.",
	"tfdv_validate":            "ml.validate_data_drift((SELECT …), (SELECT …)) compares rows.",
	"training_info":            "ml.training_history('model') has the losses of iterations.",
	"trial_info":               "ml.trials('model') has the trials.",
}
