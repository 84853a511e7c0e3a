// Package number implements PostgreSQL's numbers: the exact numeric, and the text forms of all,
// with to_char() and to_number().
//
//	Decimal = coefficient × 10^-scale    (int64, or big.Int beyond it)
//
// decimal.go, arith.go, round.go, math.go, doubled.go and float.go compute; codec.go is the
// form in a column, whose bytes compare as the values do, wire.go the form in
// messages; text.go the text of integers and floats; mod.go numeric(p,s);
// format*.go to_char(). The tables in testdata hold what PostgreSQL 15 answers.
package number
