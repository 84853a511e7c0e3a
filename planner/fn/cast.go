package fn

import "github.com/tributarydb/tributary/sql/types"

// CastEntry is a row of pg_cast.
type CastEntry struct {
	From, To types.OID
	Context  CastContext
	// Method is pg_cast's: 'f' for a function, Func, 'b' for values that are the same, 'i' for their text.
	Method byte
	Func   types.OID
}

// AllCasts lists the rows of pg_cast.
func AllCasts() []CastEntry { return reg().casts }

// Polymorphic reports whether a parameter of the type to, if that is polymorphic or any, takes a value that is an
// array or of an enumerated type.
func Polymorphic(to types.OID, array, enum bool) (takes, is bool) {
	switch class := to.Class(); {
	case to == types.AnyEnumOID:
		return enum, true
	case to == types.AnyNonArrayOID, to == types.AnyCompatibleNonArrayOID:
		return !array, true
	case class == types.ClassAnyArray, class == types.ClassAnyCompatibleArray:
		return array, true
	}
	return true, to == types.AnyOID || to.IsPolymorphic()
}

// Cast reports whether one type converts to another, and in which context: pg_cast, then the
// conversions that PostgreSQL has without an entry there — unknown literals become anything, arrays
// convert as their elements do, and every type has a text form (assignment to a string, explicit
// from one).
func Cast(from, to types.OID) (CastContext, bool) {
	if from == to {
		return ImplicitCast, true
	}
	if from == types.UnknownOID {
		return ImplicitCast, true
	}
	if c, ok := reg().context[[2]types.OID{from, to}]; ok {
		return c, true
	}
	fe, fa := types.Type{OID: from}.Elem()
	te, ta := types.Type{OID: to}.Elem()
	if fa && ta && from != types.Int2VectorOID && from != types.OIDVectorOID {
		if c, ok := Cast(fe.OID, te.OID); ok {
			return c, true
		}
	}
	if (types.Type{OID: from}).IsPseudo() || (types.Type{OID: to}).IsPseudo() {
		takes, is := Polymorphic(to, fa, from >= types.FirstUserOID && !fa)
		switch {
		case is && takes:
			return ImplicitCast, true
		case is:
			return 0, false
		case from.Class() == types.ClassRecord && Category(to) == 'S':
			return AssignmentCast, true
		case (types.Type{OID: from}).Form() == types.FormNull && Category(to) == 'S':
			return ExplicitCast, true
		}
		return 0, false
	}
	switch {
	case Category(to) == 'S':
		return AssignmentCast, true
	case Category(from) == 'S':
		return ExplicitCast, true
	}
	return 0, false
}

// CastVolatility returns Stable for a cast whose result depends on settings: the time zone, the
// date style, the search path.
func CastVolatility(from, to types.OID) Volatility {
	if from == to || from == types.UnknownOID { // literals are read when they are bound
		return Immutable
	}
	fe, fa := types.Type{OID: from}.Elem()
	te, ta := types.Type{OID: to}.Elem()
	if fa && ta {
		return CastVolatility(fe.OID, te.OID)
	}
	zoned := func(o types.OID) bool { return o == types.TimestamptzOID || o == types.TimetzOID }
	stable := false
	if _, ok := reg().context[[2]types.OID{from, to}]; ok {
		stable = from != types.TimetzOID && zoned(from) != zoned(to) || from == types.TimestamptzOID ||
			from == types.MoneyOID || to == types.MoneyOID || Category(from) == 'S' && types.IsReg(to)
	} else if Category(to) == 'S' {
		stable = textual(from)
	} else { // from text
		stable = textual(to) || to == types.TimeOID || to == types.TimetzOID
	}
	if stable {
		return Stable
	}
	return Immutable
}

// textual reports whether a type's text depends on settings or on the catalog.
func textual(o types.OID) bool {
	switch o.Class() {
	case types.ClassDate, types.ClassTimestamp, types.ClassTimestamptz, types.ClassInterval, types.ClassRecord, types.ClassReg, types.ClassArray:
		return true
	}
	return o >= types.FirstUserOID || o == types.MoneyOID
}
