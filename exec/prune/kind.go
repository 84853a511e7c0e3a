package prune

import "github.com/tributarydb/tributary/sql/types"

// KindOf is the class of a type whose Datums have the order of its = and <, ClassOther for types that do
// not. Integers, oids and tids are of one class here: int64 all.
func KindOf(t types.Type) types.Class {
	switch c := t.Class(); c {
	case types.ClassObject, types.ClassTID:
		return types.ClassInteger
	case types.ClassInteger, types.ClassNumeric, types.ClassFloat, types.ClassText, types.ClassDate, types.ClassTimestamp,
		types.ClassTimestamptz, types.ClassTime, types.ClassUUID:
		return c
	}
	return types.ClassOther
}
