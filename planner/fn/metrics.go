package fn

// The metrics that ml_classification and ml_regression return, in the order of their arrays: all
// computed in one pass over the rows, for ml.evaluate. Plain precision, recall and F1 are of the
// positive of two classes, else macro; the names of the others are scikit-learn's.
var (
	ClassMetrics = []string{"accuracy", "precision", "recall", "f1_score", "precision_macro", "recall_macro", "f1_macro",
		"precision_micro", "recall_micro", "f1_micro", "precision_weighted", "recall_weighted", "f1_weighted",
		"balanced_accuracy", "matthews_corrcoef"}
	RegressionMetrics = []string{"mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "r2_score", "explained_variance"}
)
