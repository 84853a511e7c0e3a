package mysql

import (
	"regexp"
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// In MySQL a truth value is the number 1 or 0, and any number is a truth
// value; in Postgres the two never mix. So an expression is written in one of
// two ways, by where it stands:
//
//	value   SELECT a = b       (a = b)::int          SELECT TRUE  1
//	cond    WHERE a            a <> 0                WHERE a = b  a = b

// truth reports whether an expression is written as a Postgres boolean.
func truth(e sqlparser.Expr) bool {
	switch e := e.(type) {
	case *sqlparser.AndExpr, *sqlparser.OrExpr, *sqlparser.XorExpr, *sqlparser.NotExpr, *sqlparser.ComparisonExpr,
		*sqlparser.BetweenExpr, *sqlparser.IsExpr, *sqlparser.ExistsExpr:
		return true
	case *sqlparser.UnaryExpr:
		return e.Operator == sqlparser.BangOp
	case *sqlparser.RegexpLikeExpr:
		return true
	case *sqlparser.FuncExpr:
		return e.Name.EqualString("isnull") && e.Qualifier.IsEmpty()
	}
	return false
}

// value writes an expression as a value.
func (t *translator) value(e sqlparser.Expr) {
	if truth(e) {
		t.w("CAST (")
		t.cond(e)
		t.w("AS int )")
		return
	}
	if !t.enter() {
		return
	}
	defer t.leave()
	switch e := e.(type) {
	case *sqlparser.Literal:
		t.literal(e)
	case *sqlparser.NullVal:
		t.w("NULL")
	case sqlparser.BoolVal:
		if e {
			t.w("1")
		} else {
			t.w("0")
		}
	case *sqlparser.ColName:
		t.column(e)
	case *sqlparser.Argument:
		t.w("$" + strings.TrimPrefix(e.Name, "v"))
	case sqlparser.ValTuple:
		t.list(e)
	case *sqlparser.Subquery:
		t.w("(")
		t.query(e.Select)
		t.w(")")
	case *sqlparser.BinaryExpr:
		t.binary(e)
	case *sqlparser.UnaryExpr:
		t.unary(e)
	case *sqlparser.CollateExpr:
		t.refuse("COLLATE", "collate")
	case *sqlparser.IntroducerExpr:
		if lex.Fold(e.CharacterSet) == "_binary" {
			t.refuse("_binary", "_binary")
			return
		}
		t.value(e.Expr)
	case *sqlparser.CaseExpr:
		t.caseExpr(e)
	case *sqlparser.Default:
		if e.ColName != "" {
			t.refuse("DEFAULT(column)", "default")
			return
		}
		t.w("DEFAULT")
	case *sqlparser.CastExpr:
		t.cast(e.Expr, e.Type, e.Array)
	case *sqlparser.ConvertExpr:
		t.cast(e.Expr, e.Type, false)
	case *sqlparser.IntervalDateExpr:
		t.dateArithmetic(e)
	case *sqlparser.Variable:
		t.variable(e)
	default:
		t.function(e)
	}
}

// cond writes an expression as a Postgres boolean.
func (t *translator) cond(e sqlparser.Expr) {
	if !t.enter() {
		return
	}
	defer t.leave()
	switch e := e.(type) {
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		t.chain(e)
	case *sqlparser.XorExpr:
		t.w("(")
		t.cond(e.Left)
		t.w("<>")
		t.cond(e.Right)
		t.w(")")
	case *sqlparser.NotExpr:
		t.not(e.Expr)
	case *sqlparser.UnaryExpr:
		if e.Operator == sqlparser.BangOp {
			t.not(e.Expr)
			return
		}
		t.nonzero(e)
	case *sqlparser.ComparisonExpr:
		t.comparison(e)
	case *sqlparser.BetweenExpr:
		side := t.value
		if someBits(e.Left, e.From, e.To) {
			side = t.compared
		}
		t.w("(")
		side(e.Left)
		if !e.IsBetween {
			t.w("NOT")
		}
		t.w("BETWEEN")
		side(e.From)
		t.w("AND")
		side(e.To)
		t.w(")")
	case *sqlparser.IsExpr:
		t.is(e)
	case *sqlparser.ExistsExpr:
		t.w("EXISTS (")
		t.query(e.Subquery.Select)
		t.w(")")
	case sqlparser.BoolVal:
		t.w(strings.ToUpper(strconv.FormatBool(bool(e))))
	case *sqlparser.NullVal:
		t.w("CAST ( NULL AS boolean )")
	case *sqlparser.RegexpLikeExpr:
		if e.MatchType != nil {
			t.refuse("REGEXP_LIKE with a match type", "regexp_like")
			return
		}
		t.w("(")
		t.value(e.Expr)
		t.w("~")
		t.value(e.Pattern)
		t.w(")")
	case *sqlparser.FuncExpr:
		if truth(e) && len(e.Exprs) == 1 { // ISNULL(x)
			t.w("(")
			t.value(e.Exprs[0])
			t.w("IS NULL )")
			return
		}
		t.nonzero(e)
	default:
		t.nonzero(e)
	}
}

func (t *translator) nonzero(e sqlparser.Expr) {
	t.w("(")
	t.value(e)
	t.w("<> 0 )")
}

func (t *translator) not(e sqlparser.Expr) {
	t.w("( NOT")
	t.cond(e)
	t.w(")")
}

// chain writes a AND b AND c …, whose tree is left-deep, in a loop: recursion
// would be as deep as the conditions are many.
func (t *translator) chain(e sqlparser.Expr) {
	_, and := e.(*sqlparser.AndExpr)
	word := "OR"
	if and {
		word = "AND"
	}
	var right []sqlparser.Expr
	for {
		if a, ok := e.(*sqlparser.AndExpr); ok && and {
			right = append(right, a.Right)
			e = a.Left
		} else if o, ok := e.(*sqlparser.OrExpr); ok && !and {
			right = append(right, o.Right)
			e = o.Left
		} else {
			break
		}
	}
	t.w("(")
	t.cond(e)
	for i := len(right) - 1; i >= 0 && t.err == nil; i-- {
		t.w(word)
		t.cond(right[i])
	}
	t.w(")")
}

var comparisons = map[sqlparser.ComparisonExprOperator]string{
	sqlparser.EqualOp: "=", sqlparser.LessThanOp: "<", sqlparser.GreaterThanOp: ">", sqlparser.LessEqualOp: "<=",
	sqlparser.GreaterEqualOp: ">=", sqlparser.NotEqualOp: "<>", sqlparser.NullSafeEqualOp: "IS NOT DISTINCT FROM",
	sqlparser.InOp: "IN", sqlparser.NotInOp: "NOT IN", sqlparser.LikeOp: "LIKE", sqlparser.NotLikeOp: "NOT LIKE",
	sqlparser.RegexpOp: "~", sqlparser.NotRegexpOp: "!~",
}

func (t *translator) comparison(e *sqlparser.ComparisonExpr) {
	op, ok := comparisons[e.Operator]
	if !ok {
		t.refuse("this comparison")
		return
	}
	side := t.value
	if someBits(e.Left, e.Right) {
		side = t.compared
	}
	t.w("(")
	side(e.Left)
	t.w(op)
	switch e.Modifier {
	case sqlparser.Any:
		t.w("ANY")
	case sqlparser.All:
		t.w("ALL")
	}
	if _, list := e.Right.(sqlparser.ListArg); list {
		t.unknown(e.Right)
	}
	side(e.Right)
	if e.Escape != nil {
		t.w("ESCAPE")
		t.value(e.Escape)
	}
	t.w(")")
}

func (t *translator) is(e *sqlparser.IsExpr) {
	t.w("(")
	switch e.Right {
	case sqlparser.IsNullOp, sqlparser.IsNotNullOp:
		t.value(e.Left)
	default:
		t.cond(e.Left)
	}
	switch e.Right {
	case sqlparser.IsNullOp:
		t.w("IS NULL")
	case sqlparser.IsNotNullOp:
		t.w("IS NOT NULL")
	case sqlparser.IsTrueOp:
		t.w("IS TRUE")
	case sqlparser.IsNotTrueOp:
		t.w("IS NOT TRUE")
	case sqlparser.IsFalseOp:
		t.w("IS FALSE")
	case sqlparser.IsNotFalseOp:
		t.w("IS NOT FALSE")
	}
	t.w(")")
}

func (t *translator) column(c *sqlparser.ColName) {
	if n := len(t.aliases); n > 0 && c.Qualifier.IsEmpty() {
		if e, ok := t.aliases[n-1][lex.Fold(c.Name.String())]; ok {
			t.aliases = append(t.aliases, nil) // an alias is not looked up within itself
			t.w("(")
			t.value(e)
			t.w(")")
			t.aliases = t.aliases[:n]
			return
		}
	}
	name := folded(c.Name.String())
	if !c.Qualifier.IsEmpty() {
		name = folded(c.Qualifier.Name.String()) + "." + name
		if q := c.Qualifier.Qualifier.String(); q != "" {
			name = folded(q) + "." + name
		}
	}
	t.w(name)
}

// literal writes a constant. Vitess has undone the escapes of a string.
func (t *translator) literal(l *sqlparser.Literal) {
	switch l.Type {
	case sqlparser.StrVal:
		if strings.IndexByte(l.Val, 0) >= 0 {
			t.fail(pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00"))
			return
		}
		t.w(lex.QuoteLiteral(l.Val))
	case sqlparser.IntVal, sqlparser.DecimalVal, sqlparser.FloatVal:
		t.w(l.Val)
	case sqlparser.HexVal, sqlparser.HexNum:
		t.bytes(l)
	case sqlparser.BitNum:
		t.w("B'" + bitDigits(l) + "'")
	case sqlparser.DateVal:
		t.w("DATE", lex.QuoteLiteral(l.Val))
	case sqlparser.TimeVal:
		t.w("TIME", lex.QuoteLiteral(l.Val))
	case sqlparser.TimestampVal:
		t.w("TIMESTAMP", lex.QuoteLiteral(l.Val))
	default:
		t.refuse("this kind of literal")
	}
}

func (t *translator) list(exprs []sqlparser.Expr) {
	t.w("(")
	for i, e := range exprs {
		t.comma(i)
		t.value(e)
	}
	t.w(")")
}

// binary writes arithmetic. MySQL's / divides integers exactly and returns NULL for a zero divisor;
// so do DIV and %.
func (t *translator) binary(e *sqlparser.BinaryExpr) {
	op := ""
	switch e.Operator {
	case sqlparser.PlusOp:
		op = "+"
	case sqlparser.MinusOp:
		op = "-"
	case sqlparser.MultOp:
		op = "*"
	case sqlparser.BitAndOp:
		t.bitwise(e, "&")
		return
	case sqlparser.BitOrOp:
		t.bitwise(e, "|")
		return
	case sqlparser.BitXorOp:
		t.bitwise(e, "#")
		return
	case sqlparser.ShiftLeftOp, sqlparser.ShiftRightOp:
		t.shift(e)
		return
	case sqlparser.DivOp:
		t.w("(")
		t.divide(e)
		t.w(")")
		return
	case sqlparser.IntDivOp:
		t.w("CAST ( trunc (")
		t.divide(e)
		t.w(") AS bigint )")
		return
	case sqlparser.ModOp:
		t.modulo(e.Left, e.Right)
		return
	default:
		t.refuse("operator " + e.Operator.ToString())
		return
	}
	t.w("(")
	if op == "*" {
		t.operand(e.Left)
		t.w(op)
		t.operand(e.Right)
	} else {
		t.term(e.Left)
		t.w(op)
		t.term(e.Right)
	}
	t.w(")")
}

func (t *translator) divide(e *sqlparser.BinaryExpr) {
	t.operand(e.Left)
	t.w("* 1.0 / NULLIF (")
	t.operand(e.Right)
	t.w(", 0 )")
}

func (t *translator) modulo(a, b sqlparser.Expr) {
	t.w("(")
	t.operand(a)
	t.w("% NULLIF (")
	t.operand(b)
	t.w(", 0 ) )")
}

func (t *translator) unary(e *sqlparser.UnaryExpr) {
	switch e.Operator {
	case sqlparser.UPlusOp:
		t.value(e.Expr)
	case sqlparser.UMinusOp:
		t.w("( -")
		t.operand(e.Expr)
		t.w(")")
	case sqlparser.NStringOp:
		t.value(e.Expr)
	default:
		t.refuse("operator " + strings.TrimSpace(e.Operator.ToString()))
	}
}

func (t *translator) caseExpr(e *sqlparser.CaseExpr) {
	t.w("CASE")
	if e.Expr != nil {
		t.value(e.Expr)
	}
	for _, w := range e.Whens {
		t.w("WHEN")
		if e.Expr != nil {
			t.value(w.Cond)
		} else {
			t.cond(w.Cond)
		}
		t.w("THEN")
		t.value(w.Val)
	}
	if e.Else != nil {
		t.w("ELSE")
		t.value(e.Else)
	}
	t.w("END")
}

// intervalUnits are the units that have the same name in Postgres.
var intervalUnits = map[sqlparser.IntervalType]string{
	sqlparser.IntervalMicrosecond: "1 microsecond", sqlparser.IntervalSecond: "1 second", sqlparser.IntervalMinute: "1 minute",
	sqlparser.IntervalHour: "1 hour", sqlparser.IntervalDay: "1 day", sqlparser.IntervalWeek: "7 days",
	sqlparser.IntervalMonth: "1 month", sqlparser.IntervalQuarter: "3 months", sqlparser.IntervalYear: "1 year",
}

// dateArithmetic writes d + INTERVAL n unit in all its spellings.
func (t *translator) dateArithmetic(e *sqlparser.IntervalDateExpr) {
	unit, ok := intervalUnits[e.Unit]
	if e.Unit == sqlparser.IntervalNone {
		unit, ok = "1 day", true // ADDDATE(d, 3)
	}
	if !ok {
		t.refuse("INTERVAL … "+e.Unit.ToString(), e.Unit.ToString())
		return
	}
	op := "+"
	switch e.Syntax {
	case sqlparser.IntervalDateExprDateSub, sqlparser.IntervalDateExprSubdate, sqlparser.IntervalDateExprBinarySub:
		op = "-"
	}
	// MySQL's result is a date where a date moves by whole days.
	days := map[string]bool{"1 day": true, "7 days": true, "1 month": true, "3 months": true, "1 year": true}[unit]
	date := days && t.isDate(e.Date)
	if date {
		t.w("CAST (")
	}
	t.w("(")
	if l, ok := e.Date.(*sqlparser.Literal); ok && l.Type == sqlparser.StrVal {
		if !dateText.MatchString(l.Val) {
			t.refuse("INTERVAL arithmetic on "+lex.QuoteLiteral(l.Val), "date_add", "date_sub", "interval")
			return
		}
		t.w("TIMESTAMP", lex.QuoteLiteral(l.Val))
	} else {
		t.value(e.Date)
	}
	t.w(op)
	if unit != "1 second" { // others take whole numbers
		t.w("round ( CAST (")
	}
	if l, ok := e.Interval.(*sqlparser.Literal); ok && l.Type == sqlparser.StrVal {
		if _, err := strconv.ParseFloat(l.Val, 64); err != nil {
			t.refuse("INTERVAL "+lex.QuoteLiteral(l.Val), "interval")
			return
		}
		t.w(l.Val)
	} else {
		t.operand(e.Interval)
	}
	if unit != "1 second" {
		t.w("AS numeric ) )")
	}
	t.w("* INTERVAL", lex.QuoteLiteral(unit), ")")
	if date {
		t.w("AS date )")
	}
}

// dateText is a date, perhaps with a time, that both read alike.
var dateText = regexp.MustCompile(`^(\d{4}-\d{1,2}-\d{1,2}|\d{8})([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?$`)

// isDate reports whether an expression is a date without a time, as far as its text tells.
func (t *translator) isDate(e sqlparser.Expr) bool {
	switch e := e.(type) {
	case *sqlparser.Literal:
		return e.Type == sqlparser.DateVal || e.Type == sqlparser.StrVal && !strings.ContainsAny(e.Val, " :T")
	case *sqlparser.CastExpr:
		return lex.Fold(e.Type.Type) == "date"
	case *sqlparser.ConvertExpr:
		return lex.Fold(e.Type.Type) == "date"
	case *sqlparser.FuncExpr:
		name := lex.Fold(e.Name.String())
		return e.Qualifier.IsEmpty() && (name == "date" || name == "curdate" || name == "current_date")
	case *sqlparser.CurTimeFuncExpr:
		name := lex.Fold(e.Name.String())
		return name == "curdate" || name == "current_date"
	case *sqlparser.IntervalDateExpr:
		switch e.Unit {
		case sqlparser.IntervalNone, sqlparser.IntervalDay, sqlparser.IntervalWeek, sqlparser.IntervalMonth, sqlparser.IntervalQuarter, sqlparser.IntervalYear:
			return t.isDate(e.Date)
		}
	}
	return false
}

// variable writes @@x for the few settings that clients read; @x are MySQL's
// session variables, which Postgres does not have.
func (t *translator) variable(v *sqlparser.Variable) {
	name := lex.Fold(v.Name.String())
	if v.Scope == sqlparser.VariableScope {
		t.refuse("user variable @" + name)
		return
	}
	switch name {
	case "version":
		t.w("version ( )")
	case "autocommit":
		t.w("1")
	case "time_zone", "session.time_zone":
		t.w("current_setting ( 'TimeZone' )")
	case "sql_mode":
		t.w("'STRICT_TRANS_TABLES'")
	default:
		t.refuse("system variable @@" + name)
	}
}
