package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// HolidayColumn is the column that rows of series have of a relation of holidays, in training and afterwards: the name
// of the row's day, NULL on other days.
const HolidayColumn = "holiday"

// HolidaysOption is the option of a training that names the relation. A version keeps it with its schema.
const HolidaysOption = "holidays"

// Holidays is a relation of days that have names: a row is a day, its name, and how many days before and after it have
// the name too, as names of their own ("fair -1", "fair +2"). Columns that are called as a key of groups limit a row to
// the series of that key.
type Holidays struct {
	Relation                 string // as SQL, with its schema
	day, name, before, after string // expressions over r
	by                       []string
}

// The names of the columns, those of others beside our own: Prophet's, then BigQuery ML's.
var (
	holidayDays   = []string{"date", "ds", "primary_date", "day"}
	holidayNames  = []string{"name", "holiday", "holiday_name"}
	holidayBefore = []string{"lower_window", "preholiday_days"}
	holidayAfter  = []string{"upper_window", "postholiday_days"}
)

// ReadHolidays finds a relation by its name and checks its columns. Keys are those of the groups. Errors have no position.
func ReadHolidays(b *scope.Binder, relation string, keys []string) (*Holidays, error) {
	parts, err := catalog.SplitName(relation)
	if err != nil {
		return nil, err
	}
	schema, name, err := catalog.RelationName(parts...)
	if err != nil {
		return nil, err
	}
	if err := b.MayLookIn(schema); err != nil {
		return nil, err
	}
	hit, ok := query.LookupRelation(b, schema, name)
	if !ok || hit.Rel == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(parts, ".")).
			WithHint("The option %s takes the name of a table or a view of days and their names.", HolidaysOption)
	}
	h := &Holidays{Relation: lex.QuoteName(hit.Schema) + "." + lex.QuoteName(hit.Rel.Name)}
	live := hit.Rel.Live()
	column := func(names []string) (string, types.Type) {
		for _, n := range names {
			for _, c := range live {
				if strings.EqualFold(c.Name, n) {
					return "r." + lex.QuoteIdent(c.Name), c.Type
				}
			}
		}
		return "", types.Type{}
	}
	bad := func(code pgerr.Code, format string, args ...any) (*Holidays, error) {
		return nil, pgerr.New(code, format, args...).WithHint("Holidays are a relation of date, name and, for the days around them, lower_window and upper_window.")
	}
	var t types.Type
	if h.day, t = column(holidayDays); h.day == "" {
		return bad(pgerr.UndefinedColumn, "relation %s has no column of days, such as date", h.Relation)
	}
	if h.day, ok = dayOf(h.day, t); !ok {
		return bad(pgerr.DatatypeMismatch, "the days of relation %s are of type %s, and must be dates or timestamps", h.Relation, b.TypeName(t))
	}
	if h.name, t = column(holidayNames); h.name == "" {
		return bad(pgerr.UndefinedColumn, "relation %s has no column of names, such as name", h.Relation)
	}
	if !t.IsString() {
		return bad(pgerr.DatatypeMismatch, "the names of relation %s are of type %s, and must be texts", h.Relation, b.TypeName(t))
	}
	for _, w := range []struct {
		names []string
		to    *string
	}{{holidayBefore, &h.before}, {holidayAfter, &h.after}} {
		switch *w.to, t = column(w.names); {
		case *w.to == "":
			*w.to = "0"
		case !t.IsInteger():
			return bad(pgerr.DatatypeMismatch, "%s of relation %s is of type %s, and must be a number of days", w.names[0], h.Relation, b.TypeName(t))
		default:
			*w.to = "coalesce(abs(" + *w.to + "), 0)"
		}
	}
	for _, k := range keys {
		if slices.ContainsFunc(live, func(c catalog.Column) bool { return c.Name == k }) {
			h.by = append(h.by, k)
		}
	}
	return h, nil
}

// dayOf is the day of a time, as SQL; ok is false for a time that is a number. Times with a zone count in UTC, as their steps do.
func dayOf(text string, t types.Type) (string, bool) {
	if t.OID == types.TimestamptzOID {
		text = "(" + text + " AT TIME ZONE 'UTC')"
	}
	return text + "::date", t.IsStamp()
}

// Over returns rows with the column of holidays. Of several on a day the nearest is taken, then the first by name. day is the
// day of a row q.
func (h *Holidays) Over(rows *ast.SelectStmt, time catalog.ModelFeature) (*ast.SelectStmt, error) {
	day, ok := dayOf("q."+lex.QuoteIdent(time.Name), time.Type)
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "holidays need times that are dates or timestamps, and column \"%s\" is neither", time.Name)
	}
	inner, outer, on := "", "", ""
	for i, k := range h.by {
		as := `"~key` + strconv.Itoa(i) + `"`
		inner += ", r." + lex.QuoteIdent(k) + " AS " + as
		outer += ", d." + as
		on += " AND h." + as + " = q." + lex.QuoteIdent(k)
	}
	text := strings.NewReplacer("$relation", h.Relation, "$day", h.day, "$name", h.name, "$before", h.before, "$after", h.after, "$inner", inner, "$outer", outer, "$on", on,
		"$time", day, "$holiday", HolidayColumn).Replace(`SELECT q.*, h."~name" AS $holiday FROM "~rows" AS q LEFT JOIN (
  SELECT DISTINCT ON (d."~day"$outer) d."~day"$outer, d."~name" FROM (
    SELECT $day + k."~far" AS "~day"$inner, abs(k."~far") AS "~far", $name::text || CASE WHEN k."~far" < 0 THEN ' ' || k."~far" WHEN k."~far" > 0 THEN ' +' || k."~far" ELSE '' END AS "~name"
    FROM $relation AS r, LATERAL generate_series(-$before::int, $after::int) AS k("~far")) AS d
  WHERE d."~day" IS NOT NULL AND d."~name" IS NOT NULL ORDER BY d."~day"$outer, d."~far", d."~name") AS h ON h."~day" = $time$on`)
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	out := list[0].Node.(*ast.SelectStmt)
	ast.Rewrite(out, func(c *ast.Cursor) bool {
		if x, ok := c.Node().(*ast.RangeVar); ok && x.RelName == "~rows" {
			c.Replace(ast.NewRangeSubselect(false, rows, x.Alias))
			return false
		}
		return true
	}, nil)
	return out, nil
}

// holidays is the relation of holidays that the model was trained with, "" for none.
func (m *model) holidays() string {
	for _, o := range m.v.Options {
		if o.Name == HolidaysOption {
			return o.Value
		}
	}
	return ""
}

// withHolidays returns rows with the column of holidays that the model was trained with, as they are now.
func (m *model) withHolidays(sc *scope.Scope, rows *ast.SubLink, pos typing.Position) (*ast.SubLink, error) {
	relation := m.holidays()
	sel, ok := rows.Subselect.(*ast.SelectStmt)
	if relation == "" || !ok {
		return rows, nil
	}
	var keys []string
	for _, k := range m.groupKeys() {
		keys = append(keys, k.Name)
	}
	h, err := ReadHolidays(sc.Binder, relation, keys)
	if err != nil {
		return nil, pgerr.From(err).WithDetail("Model \"%s\" was trained with these holidays.", m.name).At(pos.At())
	}
	sel, err = h.Over(sel, *m.v.Time())
	if err != nil {
		return nil, pgerr.From(err).At(pos.At())
	}
	return ast.NewSubLink(ast.EXPR_SUBLINK, sel), nil
}

// stepsArgument has ml.forecast return the next times of a model whose regressors it does not know: for queries of its own.
const stepsArgument = "~steps"

// nextSteps is a query of the next times of all series; a horizon of 0 is the model's own.
func (m *model) nextSteps(name ast.Node, horizon int64) (*ast.SubLink, error) {
	list := ""
	for _, k := range m.groupKeys() {
		list += lex.QuoteIdent(k.Name) + ", "
	}
	steps := ""
	if horizon > 0 {
		steps = ", horizon => " + strconv.FormatInt(horizon, 10)
	}
	return asked("SELECT "+list+lex.QuoteIdent(m.v.Time().Name)+" FROM ml.forecast(''"+steps+`, "`+stepsArgument+`" => true)`, name)
}

// foresees reports whether all regressors of the model's next steps are known: they are holidays.
func (m *model) foresees() bool { return m.holidays() != "" && len(m.v.Features) == 2 }
