package pgerr

// InvalidText returns the error for text that is no value of a type.
func InvalidText(typ, s string) *Error {
	return New(InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typ, s)
}

// TextOutOfRange returns the error for text whose value is out of a type's range.
func TextOutOfRange(typ, s string) *Error {
	return New(NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typ)
}

// OutOfRange returns the error for a result that is out of a type's range.
func OutOfRange(typ string) *Error {
	return New(NumericValueOutOfRange, "%s out of range", typ)
}
