package spill

// WriteError returns the error of a failing write.
func WriteError(err error) error { return ioError(err, "write to temporary file") }
