package mysql

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

// mysqlSame are MySQL's functions that Postgres has under the same or another
// name with the same meaning for every argument.
var mysqlSame = map[string]string{
	"abs": "abs", "acos": "acos", "asin": "asin", "atan": "atan", "atan2": "atan2", "ceil": "ceil", "ceiling": "ceil",
	"cos": "cos", "cot": "cot", "degrees": "degrees", "exp": "exp", "floor": "floor", "ln": "ln", "log10": "log", "pi": "pi",
	"pow": "power", "power": "power", "radians": "radians", "round": "round", "sign": "sign", "sin": "sin", "sqrt": "sqrt",
	"tan": "tan", "truncate": "trunc", "coalesce": "coalesce", "ifnull": "coalesce", "nullif": "nullif",
	"char_length": "char_length", "character_length": "char_length", "length": "octet_length", "octet_length": "octet_length",
	"bit_length": "bit_length", "lower": "lower", "lcase": "lower", "upper": "upper", "ucase": "upper", "left": "left",
	"right": "right", "repeat": "repeat", "replace": "replace", "reverse": "reverse", "lpad": "lpad", "rpad": "rpad", "md5": "md5",
	"concat_ws": "concat_ws", "instr": "strpos", "last_insert_id": "lastval", "database": "current_schema",
	"schema": "current_schema", "version": "version",
}

// mysqlRefused are MySQL's functions that Postgres lacks or defines
// differently. A name in neither table is not MySQL's: it is a function of this
// database, or the binder reports it as undefined.
var mysqlRefused = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`date_format str_to_date time_format from_unixtime unix_timestamp makedate maketime
		period_add period_diff sec_to_time time_to_sec timediff timestamp to_days from_days to_seconds week weekofyear
		yearweek dayname monthname last_day convert_tz addtime subtime utc_date utc_time utc_timestamp get_format hex unhex
		bin oct conv ord elt field find_in_set make_set export_set format quote soundex strcmp substring_index to_base64
		from_base64 uncompress compress crc32 sha sha1 sha2 aes_encrypt aes_decrypt inet_aton inet_ntoa inet6_aton
		inet6_ntoa is_ipv4 is_ipv6 sleep benchmark found_rows row_count connection_id bit_count any_value name_const
		password old_password encrypt des_encrypt load_file uuid_short uuid_to_bin bin_to_uuid json_type json_set
		master_pos_wait microsecond curtime curdate current_date current_time session_user system_user current_role`) {
		m[n] = true
	}
	return m
}()

// function writes the nodes that are calls.
func (t *translator) function(e sqlparser.Expr) {
	switch e := e.(type) {
	case *sqlparser.FuncExpr:
		t.call(e)
	case sqlparser.AggrFunc:
		t.aggregate(e)
	case sqlparser.WindowFunc:
		t.windowFunc(e)
	case *sqlparser.SubstrExpr:
		t.substring(e)
	case *sqlparser.TrimFuncExpr:
		t.trim(e)
	case *sqlparser.LocateExpr:
		if e.Pos != nil {
			t.refuse("LOCATE with a position", "locate")
			return
		}
		t.named("strpos", e.Str, e.SubStr)
	case *sqlparser.InsertExpr:
		t.refuse("INSERT()", "insert")
	case *sqlparser.CurTimeFuncExpr:
		t.currentTime(e)
	case *sqlparser.ExtractFuncExpr:
		t.extract(e.IntervalType, e.Expr)
	case *sqlparser.TimestampDiffExpr:
		t.refuse("TIMESTAMPDIFF", "timestampdiff")
	case *sqlparser.JSONObjectExpr:
		t.w("json_build_object (")
		for i, p := range e.Params {
			t.comma(i)
			t.value(p.Key)
			t.w(",")
			t.value(p.Value)
		}
		t.w(")")
	case *sqlparser.JSONArrayExpr:
		t.named("json_build_array", e.Params...)
	case *sqlparser.RegexpReplaceExpr:
		if e.Position != nil || e.Occurrence != nil || e.MatchType != nil {
			t.refuse("REGEXP_REPLACE with options", "regexp_replace")
			return
		}
		t.w("regexp_replace (")
		t.value(e.Expr)
		t.w(",")
		t.value(e.Pattern)
		t.w(",")
		t.value(e.Repl)
		t.w(", 'g' )")
	case *sqlparser.ConvertUsingExpr:
		t.value(e.Expr)
	default:
		t.unknown(e)
	}
}

// named writes f(a, b, …).
func (t *translator) named(name string, args ...sqlparser.Expr) {
	t.w(name)
	t.list(args)
}

// call writes a call by name.
func (t *translator) call(e *sqlparser.FuncExpr) {
	name, args := lex.Fold(e.Name.String()), e.Exprs
	if q := e.Qualifier.String(); q != "" {
		t.named(folded(q)+"."+folded(name), args...)
		return
	}
	switch n := len(args); {
	case name == "if" && n == 3:
		t.w("CASE WHEN")
		t.cond(args[0])
		t.w("THEN")
		t.value(args[1])
		t.w("ELSE")
		t.value(args[2])
		t.w("END")
	case name == "concat" && n > 0:
		t.concat(args)
	case (name == "greatest" || name == "least") && n > 0:
		t.extreme(name, args)
	case name == "ascii" && n == 1: // the first byte; 0 where there is none
		t.w("get_byte ( convert_to ( CAST (")
		t.value(args[0])
		t.w("AS text ) , 'UTF8' ) || CAST ( '\\x00' AS bytea ) , 0 )")
	case name == "log" && n == 1:
		t.named("ln", args...)
	case name == "log" && n == 2:
		t.logBase(args[0], args[1])
	case name == "log2" && n == 1:
		t.w("log ( 2 , CAST (")
		t.value(args[0])
		t.w("AS numeric ) )")
	case name == "mod" && n == 2:
		t.modulo(args[0], args[1])
	case name == "rand" && n == 0:
		t.w("random ( )")
	case name == "space" && n == 1:
		t.w("repeat ( ' ' ,")
		t.value(args[0])
		t.w(")")
	case name == "uuid" && n == 0:
		t.w("CAST ( gen_random_uuid ( ) AS text )")
	case name == "user" && n == 0:
		t.w("CAST ( current_user AS text )")
	case name == "date" && n == 1:
		t.w("CAST (")
		t.value(args[0])
		t.w("AS date )")
	case name == "time" && n == 1:
		t.w("CAST (")
		t.value(args[0])
		t.w("AS time ( 0 ) )")
	case name == "datediff" && n == 2:
		t.w("( CAST (")
		t.value(args[0])
		t.w("AS date ) - CAST (")
		t.value(args[1])
		t.w("AS date ) )")
	case name == "sysdate" && n == 0:
		t.w("CAST ( clock_timestamp ( ) AS timestamp ( 0 ) )")
	case (name == "curdate" || name == "current_date") && n == 0:
		t.w("CURRENT_DATE")
	case (name == "curtime" || name == "current_time") && n == 0:
		t.w("LOCALTIME ( 0 )")
	case datePart[name] != "" && n == 1:
		t.w("CAST (", datePart[name][:strings.Index(datePart[name], "$")])
		t.temporal(args[0])
		t.w(datePart[name][strings.Index(datePart[name], "$")+1:], "AS int )")
	case name == "left" || name == "right":
		if n == 2 && !nonNegative(args[1]) {
			t.refuse(strings.ToUpper(name)+" with a length that is no constant", name)
			return
		}
		t.named(name, args...)
	case mysqlSame[name] != "":
		t.named(mysqlSame[name], args...)
	case mysqlRefused[name] || name == "rand":
		t.refuse("function "+name+"()", name)
	default:
		t.named(folded(name), args...)
	}
}

// datePart are MySQL's functions that read one part of a date; $ is the date.
var datePart = map[string]string{
	"year": "EXTRACT ( year FROM $ )", "quarter": "EXTRACT ( quarter FROM $ )", "month": "EXTRACT ( month FROM $ )",
	"day": "EXTRACT ( day FROM $ )", "dayofmonth": "EXTRACT ( day FROM $ )", "hour": "EXTRACT ( hour FROM $ )",
	"minute": "EXTRACT ( minute FROM $ )", "second": "trunc ( EXTRACT ( second FROM $ ) )",
	"dayofyear": "EXTRACT ( doy FROM $ )", "dayofweek": "EXTRACT ( dow FROM $ ) + 1", "weekday": "EXTRACT ( isodow FROM $ ) - 1",
}

// temporal writes an argument that MySQL reads as a date and time.
func (t *translator) temporal(e sqlparser.Expr) {
	if l, ok := e.(*sqlparser.Literal); ok && l.Type == sqlparser.StrVal {
		t.w("TIMESTAMP", lex.QuoteLiteral(l.Val))
		return
	}
	t.value(e)
}

func nonNegative(e sqlparser.Expr) bool {
	l, ok := e.(*sqlparser.Literal)
	return ok && l.Type == sqlparser.IntVal
}

// concat writes CONCAT by ||: in MySQL a NULL argument makes the whole NULL,
// which Postgres's concat skips.
func (t *translator) concat(args []sqlparser.Expr) {
	t.w("(")
	for i, a := range args {
		if i > 0 {
			t.w("||")
		}
		if b, ok := hasBytes(a); ok {
			t.bytesText(b)
			continue
		}
		t.w("CAST (")
		t.value(a)
		t.w("AS text )")
	}
	t.w(")")
}

// extreme writes GREATEST and LEAST: in MySQL a NULL argument makes the whole
// NULL, which Postgres skips.
func (t *translator) extreme(name string, args []sqlparser.Expr) {
	t.w("CASE WHEN")
	for i, a := range args {
		if i > 0 {
			t.w("OR")
		}
		t.value(a)
		t.w("IS NULL")
	}
	t.w("THEN NULL ELSE")
	t.named(name, args...)
	t.w("END")
}

func (t *translator) logBase(base, x sqlparser.Expr) {
	t.w("log ( CAST (")
	t.value(base)
	t.w("AS numeric ) , CAST (")
	t.value(x)
	t.w("AS numeric ) )")
}

// substring writes SUBSTRING(s, p, n). A negative p counts from the end in MySQL, so only a
// constant p can be translated.
func (t *translator) substring(e *sqlparser.SubstrExpr) {
	from, negative := e.From, false
	if u, ok := from.(*sqlparser.UnaryExpr); ok && u.Operator == sqlparser.UMinusOp {
		from, negative = u.Expr, true
	}
	l, ok := from.(*sqlparser.Literal)
	if !ok || l.Type != sqlparser.IntVal || strings.Trim(l.Val, "0") == "" || e.To != nil && (negative || !nonNegative(e.To)) {
		t.refuse("SUBSTRING with a position or length that is not a positive constant", "substring", "substr", "mid")
		return
	}
	if negative {
		t.named("right", e.Name, from)
		return
	}
	if n, err := strconv.Atoi(l.Val); err != nil || n < 1 {
		t.refuse("SUBSTRING position "+l.Val, "substring", "substr", "mid")
		return
	}
	t.w("substr (")
	t.value(e.Name)
	t.w(",", l.Val)
	if e.To != nil {
		t.w(",")
		t.value(e.To)
	}
	t.w(")")
}

func (t *translator) trim(e *sqlparser.TrimFuncExpr) {
	if e.TrimArg != nil {
		if l, ok := e.TrimArg.(*sqlparser.Literal); !ok || len([]rune(l.Val)) != 1 {
			t.refuse("TRIM of a string longer than one character", "trim") // Postgres trims any of its characters
			return
		}
	}
	name := "btrim"
	switch {
	case e.TrimFuncType == sqlparser.LTrimType, e.Type == sqlparser.LeadingTrimType:
		name = "ltrim"
	case e.TrimFuncType == sqlparser.RTrimType, e.Type == sqlparser.TrailingTrimType:
		name = "rtrim"
	}
	if e.TrimArg == nil {
		t.named(name, e.StringArg)
		return
	}
	t.named(name, e.StringArg, e.TrimArg)
}

// currentTime writes NOW and its synonyms; they have whole seconds without a precision.
func (t *translator) currentTime(e *sqlparser.CurTimeFuncExpr) {
	fsp := strconv.Itoa(e.Fsp)
	switch lex.Fold(e.Name.String()) {
	case "now", "current_timestamp", "localtime", "localtimestamp":
		t.w("LOCALTIMESTAMP (", fsp, ")")
	case "curdate", "current_date":
		t.w("CURRENT_DATE")
	case "curtime", "current_time":
		t.w("LOCALTIME (", fsp, ")")
	case "sysdate":
		t.w("CAST ( clock_timestamp ( ) AS timestamp (", fsp, ") )")
	default:
		t.refuse("function "+e.Name.String()+"()", e.Name.String())
	}
}

func (t *translator) extract(unit sqlparser.IntervalType, e sqlparser.Expr) {
	u := lex.Fold(unit.ToString())
	switch u {
	case "year", "quarter", "month", "day", "hour", "minute":
	default:
		t.refuse("EXTRACT("+u+" FROM …)", "extract")
		return
	}
	t.w("CAST ( EXTRACT (", u, "FROM")
	t.temporal(e)
	t.w(") AS int )")
}

// aggregateNames maps what is not spelled the same: MySQL's STD, STDDEV and
// VARIANCE are of the population, Postgres's of a sample.
var aggregateNames = map[string]string{
	"std": "stddev_pop", "stddev": "stddev_pop", "variance": "var_pop", "json_arrayagg": "json_agg", "json_objectagg": "json_object_agg",
}

func (t *translator) aggregate(e sqlparser.AggrFunc) {
	if g, ok := e.(*sqlparser.GroupConcatExpr); ok {
		t.groupConcat(g)
		return
	}
	name := e.AggrName()
	if _, ok := e.(*sqlparser.AnyValue); ok {
		t.named("min", e.GetArgs()...)
		return
	}
	args := e.GetArgs()
	switch e.(type) {
	case *sqlparser.BitAnd, *sqlparser.BitOr, *sqlparser.BitXor:
		t.refuse(name+" of unsigned numbers", name) // 0 or 2^64 − 1 of no rows
		return
	}
	if other := aggregateNames[name]; other != "" {
		name = other
	}
	t.w(name, "(")
	if d, ok := e.(sqlparser.DistinctableAggr); ok && d.IsDistinct() {
		if len(args) > 1 {
			t.refuse("COUNT(DISTINCT a, b)", "count")
			return
		}
		t.w("DISTINCT")
	}
	if _, star := e.(*sqlparser.CountStar); star {
		t.w("*")
	}
	for i, a := range args {
		t.comma(i)
		t.value(a)
	}
	t.w(")")
	if w, ok := e.(sqlparser.WindowFunc); ok {
		t.over(w.GetOverClause())
	}
}

func (t *translator) groupConcat(g *sqlparser.GroupConcatExpr) {
	if g.Limit != nil {
		t.refuse("GROUP_CONCAT with LIMIT", "group_concat")
		return
	}
	t.w("string_agg (")
	if g.Distinct {
		t.w("DISTINCT")
	}
	t.concat(g.Exprs)
	sep := ","
	if g.Separator != "" { // Vitess keeps it quoted
		sep = lex.MySQLLiteral(g.Separator)
	}
	t.w(",", lex.QuoteLiteral(sep))
	t.orderBy(g.OrderBy)
	t.w(")")
}

// windowFunc writes the functions that need OVER.
func (t *translator) windowFunc(e sqlparser.WindowFunc) {
	switch e := e.(type) {
	case *sqlparser.FirstOrLastValueExpr:
		t.nulls(e.NullTreatmentClause)
	case *sqlparser.NTHValueExpr:
		t.nulls(e.NullTreatmentClause)
		if e.FromFirstLastClause != nil && e.FromFirstLastClause.Type == sqlparser.FromLastType {
			t.refuse("FROM LAST", "nth_value")
		}
	case *sqlparser.LagLeadExpr:
		t.nulls(e.NullTreatmentClause)
	}
	t.named(e.WindowFuncName(), e.GetArgs()...)
	t.over(e.GetOverClause())
}

func (t *translator) nulls(n *sqlparser.NullTreatmentClause) {
	if n != nil && n.Type == sqlparser.IgnoreNullsType {
		t.refuse("IGNORE NULLS", "ignore")
	}
}
