package query

import (
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Caller is on whose behalf a statement runs: the role, and all else besides the text that decides what the
// statement means, such as its parameters and the session's settings. It never changes, so it may be shared.
type Caller struct {
	Role, SessionUser types.OID
	Temp              types.OID // the schema of temporary tables, 0 for none
	Path              []string  // as search_path has it
	Dialect           parse.Dialect
	Values            *types.Env // how values are read and written, and the time
	Params            []types.Datum
	ParamTypes        []types.Type
	Host              Host

	BatchSize      int
	Saturation     float64
	DistributeRows int64    // plans that read fewer rows stay on one node; 0: none does
	DistributeCost int64    // and so do those that are thought to cost less, in nanoseconds of a thread
	Colocate       bool     // rows are read where they are wanted, if they are there
	WorkMem        int64    // bytes
	KeepDatasets   bool     // of trainings
	GroupRows      int64    // a group of more is trained by all threads of all nodes; 0: none is
	Shared         []string // directories that lie at the same paths on all nodes
	KeepOperators  bool     // of its plans, however short they run: the log is to have them

	meaning meaning
}

// Host answers what functions and system relations ask of the session, or of the training, that runs the
// statement.
type Host interface {
	function.Host
	function.Deparser
	SettingRows() []sysview.SettingRow
	PreparedRows() []sysview.PreparedRow
	CursorRows() []sysview.CursorRow
}

// NamedHost is a host that resolves the names of reg* types too.
type NamedHost interface {
	Host
	types.Names
}

// Identity says for whom the statement runs.
type Identity struct{ Role, SessionUser, Temp types.OID }

// NewCaller makes a caller from the current settings. values is the result of Values for them, and at is
// the statement's time.
func NewCaller(who Identity, set *settings.Set, values *types.Env, at time.Time, host Host) *Caller {
	v := *values
	v.Now = at
	c := &Caller{Role: who.Role, SessionUser: who.SessionUser, Temp: who.Temp, Path: splitIdents(set.Value("search_path")), Dialect: Dialect(set), Values: &v,
		Host: host, BatchSize: int(set.Int("batch_size")), DistributeRows: set.Int("tributary.distribute_rows"), DistributeCost: set.Int("tributary.distribute_cost"), Colocate: set.Bool("tributary.colocate"), WorkMem: set.Int("work_mem") << 10, KeepDatasets: set.Bool("tributary.keep_datasets"), GroupRows: set.Int("tributary.group_rows"),
		Shared: settings.Directories(set.Value("tributary.shared_directories"))}
	least := set.Int("auto_explain.log_min_duration")
	c.KeepOperators = least >= 0 && least < observe.Slow.Milliseconds()
	var err error
	if c.Saturation, err = strconv.ParseFloat(set.Value("worker_saturation"), 64); err != nil || c.Saturation <= 0 {
		c.Saturation = 1.1
	}
	c.meaning = meaningOf(c, set.Value("search_path"))
	return c
}

// At returns the caller of another statement with the same identity and settings, but its own host, time
// and parameters.
func (c *Caller) At(at time.Time, host Host, params []types.Datum, of []types.Type) *Caller {
	n, v := *c, *c.Values
	v.Now = at
	n.Values, n.Host, n.Params, n.ParamTypes = &v, host, params, of
	return &n
}

// With returns the caller with other parameters.
func (c *Caller) With(params []types.Datum, of []types.Type) *Caller {
	n := *c
	n.Params, n.ParamTypes = params, of
	return &n
}

// As returns the caller as another role, without parameters.
func (c *Caller) As(role types.OID, host Host) *Caller {
	n := c.With(nil, nil)
	n.Role, n.Host = role, host
	return n
}

// Env returns the environment of the statement's expressions; they charge pool.
func (c *Caller) Env(pool *mem.Pool) *function.Env {
	return &function.Env{Types: c.Values, Params: c.Params, Pool: pool, Host: c.Host}
}

// Schemas returns the schemas of the search path that exist and that the role may
// use, temporary ones first.
func (c *Caller) Schemas(st *catalog.State) []*catalog.Schema {
	var out []*catalog.Schema
	if t := st.Schema(c.Temp); t != nil {
		out = append(out, t)
	}
	for _, n := range c.Path {
		if n == "$user" {
			if r := st.Role(c.Role); r != nil {
				n = r.Name
			}
		}
		if n == "pg_temp" {
			continue
		}
		if sc := st.SchemaByName(n); sc != nil && sc.OID != c.Temp && st.May(c.Role, sc.Object(), 'U') {
			out = append(out, sc)
		}
	}
	return out
}

func (c *Caller) schemaNames(st *catalog.State) (out []string) {
	for _, sc := range c.Schemas(st) {
		out = append(out, sc.Name)
	}
	return out
}

// Session returns what functions may know about the session that runs the statement.
func (c *Caller) Session() function.Session {
	return function.Session{User: c.Role, SessionUser: c.SessionUser, Database: catalog.DatabaseName, Temp: c.Temp}
}

// SearchPath returns the schemas of the search path that exist, for function.Session.
func (c *Caller) SearchPath(st *catalog.State) (path []types.OID) {
	for _, sc := range c.Schemas(st) {
		path = append(path, sc.OID)
	}
	return path
}

// View returns what decides what system relations show to the statement.
func (c *Caller) View(st *catalog.State) sysview.SessionInfo {
	return sysview.SessionInfo{Role: c.Role, PID: c.Host.Session().PID, SearchPath: c.schemaNames(st), Temp: c.Temp}
}

// Dialect returns the SQL dialect of the settings.
func Dialect(set *settings.Set) parse.Dialect {
	if set.Value("dialect") == "mysql" {
		return parse.MySQL
	}
	return parse.Postgres
}

// Values returns how values are read and written under these settings.
func Values(set *settings.Set, names types.Names) *types.Env {
	loc, ok := datetime.LoadZone(set.Value("timezone"))
	if !ok {
		loc = time.UTC
	}
	e := &types.Env{Settings: datetime.Settings{Location: loc}, ExtraFloatDigits: int(set.Int("extra_float_digits")), Names: names}
	style, order, _ := strings.Cut(set.Value("datestyle"), ", ")
	e.DateStyle = map[string]datetime.DateStyle{"ISO": datetime.DateISO, "SQL": datetime.DateSQL, "Postgres": datetime.DatePostgres, "German": datetime.DateGerman}[style]
	e.DateOrder = map[string]datetime.DateOrder{"MDY": datetime.OrderMDY, "DMY": datetime.OrderDMY, "YMD": datetime.OrderYMD}[order]
	e.IntervalStyle = map[string]datetime.IntervalStyle{"postgres": datetime.IntervalPostgres, "postgres_verbose": datetime.IntervalVerbose,
		"sql_standard": datetime.IntervalSQL, "iso_8601": datetime.IntervalISO}[set.Value("intervalstyle")]
	if set.Value("bytea_output") == "escape" {
		e.ByteaOutput = types.ByteaEscape
	}
	return e
}

// Show returns a setting's value as SHOW and current_setting print it.
func Show(set *settings.Set, name string) (string, error) {
	v, err := set.Get(name)
	if err != nil {
		return "", err
	}
	if d := settings.Find(name); d != nil {
		v = d.Show(v)
	}
	return v, nil
}

// SettingRows lists settings for pg_settings.
func SettingRows(set *settings.Set) []sysview.SettingRow {
	var out []sysview.SettingRow
	for _, d := range settings.All() {
		v := set.Value(d.Name)
		r := sysview.SettingRow{Name: d.ShowName(), Setting: v, Unit: d.Unit, Category: d.Category, Desc: d.Desc, Context: string(d.Context),
			Kind: string(d.Kind), Source: "default", Enum: d.Enum, Boot: d.Default, Reset: d.Default}
		if v != d.Default {
			r.Source = "session"
		}
		if d.Kind == settings.Int {
			r.Min, r.Max = strconv.FormatInt(d.Min, 10), strconv.FormatInt(d.Max, 10)
		}
		out = append(out, r)
	}
	return out
}

// splitIdents reads a list of identifiers as SplitIdentifierString does.
func splitIdents(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == ',' || c == '\t' || c == '\n':
			i++
		case c == '"':
			var b strings.Builder
			for i++; i < len(text); i++ {
				if text[i] == '"' {
					if i+1 < len(text) && text[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(text[i])
			}
			i++
			out = append(out, b.String())
		default:
			j := i
			for j < len(text) && text[j] != ',' && text[j] != ' ' && text[j] != '"' {
				j++
			}
			out = append(out, strings.ToLower(text[i:j]))
			i = j
		}
	}
	return out
}

// MustOwn returns an error unless the caller's role has the rights of the model's owner.
func (c *Caller) MustOwn(st *catalog.State, m *catalog.Model) error {
	if st.Inherits(c.Role, m.Owner) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of model %s", m.Name)
}

// meaning is the part of a caller on which the binding of a text depends. The search path decides what names
// of reg* types mean.
type meaning struct {
	role, temp types.OID
	path       string
	dialect    parse.Dialect
	location   *time.Location
	date       datetime.DateStyle
	order      datetime.DateOrder
	interval   datetime.IntervalStyle
	digits     int
	bytea      types.ByteaOutput
}

func meaningOf(c *Caller, path string) meaning {
	v := c.Values
	return meaning{c.Role, c.Temp, path, c.Dialect, v.Location, v.DateStyle, v.DateOrder, v.IntervalStyle, v.ExtraFloatDigits, v.ByteaOutput}
}
