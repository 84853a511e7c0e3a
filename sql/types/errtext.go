package types

import "github.com/tributarydb/tributary/sql/pgerr"

func errInvalidText(typ, s string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typ, s)
}

func errTextRange(typ, s string) *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typ)
}

func errOutOfRange(typ string) *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", typ)
}
