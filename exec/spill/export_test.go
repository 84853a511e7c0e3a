package spill

// WriteError is what a failing write gives.
func WriteError(err error) error { return ioError(err, "write to temporary file") }
