package mysql

import (
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Where MySQL and Postgres both take an expression but compute something else:
//
//	bits        of unsigned numbers of 64 bits          modulo 2^64, as numeric
//	0x41 b'1'   a string, or a number in arithmetic     the one or the other, by where it stands
//	date + 1    on the number 20240131                  refused

const (
	twoTo63 = "9223372036854775808"
	twoTo64 = "18446744073709551616"
)

// unsigned writes a number as a BIGINT UNSIGNED has it.
func (t *translator) unsigned(e sqlparser.Expr) {
	t.w("mod ( round ( CAST (")
	t.operand(e)
	t.w("AS numeric ) ) +", twoTo64, ",", twoTo64, ")")
}

// signed writes the bigint of the same 64 bits.
func (t *translator) signed(e sqlparser.Expr) {
	t.w("CAST ( mod ( round ( CAST (")
	t.operand(e)
	t.w("AS numeric ) ) +", twoTo63, ",", twoTo64, ") -", twoTo63, "AS bigint )")
}

// bitwise writes &, | and ^.
func (t *translator) bitwise(e *sqlparser.BinaryExpr, op string) {
	small := func(x sqlparser.Expr) bool {
		l, ok := x.(*sqlparser.Literal)
		return ok && l.Type == sqlparser.IntVal && len(l.Val) < len(twoTo63)
	}
	plain := func(x sqlparser.Expr) bool {
		_, column := x.(*sqlparser.ColName)
		return column || small(x)
	}
	// A number that is not negative masks the sign.
	if small(e.Left) && small(e.Right) || op == "&" && (small(e.Left) && plain(e.Right) || plain(e.Left) && small(e.Right)) {
		t.w("(")
		t.value(e.Left)
		t.w(op)
		t.value(e.Right)
		t.w(")")
		return
	}
	t.w("mod ( CAST ( (")
	t.signed(e.Left)
	t.w(op)
	t.signed(e.Right)
	t.w(") AS numeric ) +", twoTo64, ",", twoTo64, ")")
}

// shift writes << and >>. A count beyond 63 leaves 0.
func (t *translator) shift(e *sqlparser.BinaryExpr) {
	left := e.Operator == sqlparser.ShiftLeftOp
	by := func(factor func()) {
		if left {
			t.w("mod (")
			t.unsigned(e.Left)
			t.w("*")
			factor()
			t.w(",", twoTo64, ")")
			return
		}
		t.w("div (")
		t.unsigned(e.Left)
		t.w(",")
		factor()
		t.w(")")
	}
	switch n := e.Right.(type) {
	case *sqlparser.Literal:
		v, ok := numberOf(n)
		if !ok {
			break
		}
		if v.Cmp(big.NewInt(63)) > 0 {
			t.w("( 0 *")
			t.unsigned(e.Left)
			t.w(")")
			return
		}
		by(func() { t.w(new(big.Int).Lsh(big.NewInt(1), uint(v.Int64())).String()) })
		return
	case *sqlparser.ColName:
		t.w("CASE WHEN")
		t.value(n)
		t.w("NOT BETWEEN 0 AND 63 THEN 0 ELSE")
		by(func() {
			t.w("round ( power ( CAST ( 2 AS numeric ) , CAST (")
			t.value(n)
			t.w("AS numeric ) ) )")
		})
		t.w("END")
		return
	}
	t.refuse("a shift by what is neither a constant nor a column")
}

// numberOf is the value of a literal that is a whole number, or bytes that stand for one.
func numberOf(l *sqlparser.Literal) (*big.Int, bool) {
	switch l.Type {
	case sqlparser.IntVal:
		return new(big.Int).SetString(l.Val, 10)
	case sqlparser.HexVal, sqlparser.HexNum, sqlparser.BitNum:
		b := bytesOf(l)
		return new(big.Int).SetBytes(b), len(b) <= 8
	}
	return nil, false
}

// bytesOf are the bytes of a hexadecimal or bit literal; nil for other literals.
func bytesOf(l *sqlparser.Literal) []byte {
	digits, base := l.Val, 16
	switch l.Type {
	case sqlparser.HexVal:
	case sqlparser.HexNum:
		digits = digits[2:]
	case sqlparser.BitNum:
		digits, base = bitDigits(l), 2
	default:
		return nil
	}
	n, ok := new(big.Int).SetString("0"+digits, base)
	if !ok {
		return nil
	}
	each := map[int]int{16: 2, 2: 8}[base]
	return n.FillBytes(make([]byte, (len(digits)+each-1)/each))
}

func bitDigits(l *sqlparser.Literal) string {
	return strings.Trim(strings.TrimPrefix(strings.ToLower(l.Val), "0b"), "b'")
}

// isBits reports whether an expression is a bit literal.
func isBits(e sqlparser.Expr) bool {
	l, ok := e.(*sqlparser.Literal)
	return ok && l.Type == sqlparser.BitNum
}

// hasBytes returns the bytes of an expression that is a hexadecimal or bit literal.
func hasBytes(e sqlparser.Expr) ([]byte, bool) {
	if l, ok := e.(*sqlparser.Literal); ok {
		b := bytesOf(l)
		return b, b != nil
	}
	return nil, false
}

func isText(b []byte) bool { return utf8.Valid(b) && !strings.Contains(string(b), "\x00") }

// bytesText writes bytes where they are shown or joined as a string.
func (t *translator) bytesText(b []byte) {
	if !isText(b) {
		t.refuse("a hexadecimal or bit literal that is no text, as a string")
		return
	}
	t.w("CAST (", lex.QuoteLiteral(string(b)), "AS text )")
}

// bytes writes a hexadecimal literal. Bytes that may be meant as text are written as an untyped string, which
// becomes text or bytea by its context. But MySQL makes a number from the bytes, not from the digits that
// they spell. So bytes that spell digits are written as bytea, which cannot become a number.
func (t *translator) bytes(l *sqlparser.Literal) {
	b := bytesOf(l)
	if s := string(b); isText(b) && !strings.Contains(s, `\`) && !numberLike.MatchString(s) {
		t.w(lex.QuoteLiteral(s))
		return
	}
	digits := l.Val
	if l.Type == sqlparser.HexNum {
		digits = digits[2:]
	}
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	t.w("CAST ( '\\x" + digits + "' AS bytea )")
}

var numberLike = regexp.MustCompile(`(?i)^\s*([-+.0-9]|nan|inf)`)

// operand writes what MySQL reads as a number.
func (t *translator) operand(e sqlparser.Expr) {
	l, ok := e.(*sqlparser.Literal)
	if !ok {
		t.value(e)
		return
	}
	switch l.Type {
	case sqlparser.HexVal, sqlparser.HexNum, sqlparser.BitNum:
		n, ok := numberOf(l)
		if !ok {
			t.fail(pgerr.New(pgerr.NumericValueOutOfRange, "a hexadecimal or bit literal of more than 64 bits is no number"))
			return
		}
		t.w(n.String())
	case sqlparser.DateVal, sqlparser.TimeVal, sqlparser.TimestampVal:
		t.refuse("a date or time as a number")
	default:
		t.value(e)
	}
}

// term writes an operand of + and -, which Postgres has for dates too: a sign before it makes sure
// that it is a number.
func (t *translator) term(e sqlparser.Expr) {
	switch e := e.(type) {
	case *sqlparser.Literal, *sqlparser.Argument, *sqlparser.BinaryExpr, *sqlparser.UnaryExpr, *sqlparser.NullVal, sqlparser.BoolVal, *sqlparser.CountStar, *sqlparser.Count:
	case *sqlparser.CurTimeFuncExpr:
		t.refuse("a date or time as a number", e.Name.String())
		return
	case *sqlparser.CastExpr:
		t.noDate(e.Type)
	case *sqlparser.ConvertExpr:
		t.noDate(e.Type)
	default:
		if !truth(e) {
			t.w("+")
		}
	}
	t.operand(e)
}

func (t *translator) noDate(to *sqlparser.ConvertType) {
	switch lex.Fold(to.Type) {
	case "date", "datetime", "time":
		t.refuse("a date or time as a number", "cast", "convert")
	}
}

// compared writes a side of a comparison with a bit literal: the sides are compared as numbers,
// whatever their lengths.
func (t *translator) compared(e sqlparser.Expr) {
	if list, ok := e.(sqlparser.ValTuple); ok {
		t.w("(")
		for i, x := range list {
			t.comma(i)
			t.compared(x)
		}
		t.w(")")
		return
	}
	if _, ok := hasBytes(e); ok {
		t.operand(e)
		return
	}
	t.w("CAST (")
	t.value(e)
	t.w("AS bigint )")
}

// someBits reports whether one of several expressions, or of their lists, is a bit literal.
func someBits(es ...sqlparser.Expr) bool {
	for _, e := range es {
		if list, ok := e.(sqlparser.ValTuple); ok && someBits(list...) || isBits(e) {
			return true
		}
	}
	return false
}
