package feature

// encoderNames are the encoders' names, for people.
var encoderNames = [numEncoders]string{Auto: "auto", Plain: "plain", Standard: "standard", MinMax: "min_max", MaxAbs: "max_abs", Robust: "robust",
	OneHot: "one_hot", Ordinal: "ordinal", Dates: "dates", Bucketize: "bucketize", QuantileBucketize: "quantile_bucketize", Array: "standard_array",
	PlainArray: "plain_array", Class: "class", Instant: "instant",
	TargetEncode: "target_encode", Hashed: "hash_bucketize", Spline: "spline", Terms: "terms", NearestRows: "knn_imputer", Regressions: "iterative_imputer"}

// String returns the encoder's name.
func (e Encoder) String() string { return encoderNames[e] }
