package pgerr

// InvalidText is the error of text that no value of a type is written as.
func InvalidText(typ, s string) *Error {
	return New(InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typ, s)
}

// TextOutOfRange is the error of text that a type has no room for.
func TextOutOfRange(typ, s string) *Error {
	return New(NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typ)
}

// OutOfRange is the error of a result that a type has no room for.
func OutOfRange(typ string) *Error {
	return New(NumericValueOutOfRange, "%s out of range", typ)
}
