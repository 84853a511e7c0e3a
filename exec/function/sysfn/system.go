package sysfn

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/exec/function/textfn"
	"github.com/tributarydb/tributary/exec/function/timefn"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/inet"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Version is the result of version(), Release the release of this database.
const (
	Version = "PostgreSQL 15.0 (Tributary) on Go, 64-bit"
	Release = "1.0"
)

// hosted adapts a function that needs the host.
func hosted(f func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error)) function.Maker {
	return function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		h, err := c.Host()
		if err != nil {
			return nil, err
		}
		return f(c, h, a)
	}))
}

func fixedAnswer(d types.Datum) function.Maker {
	return function.Always(function.Loose(func(*function.Call, []types.Datum) (types.Datum, error) { return d, nil }))
}

// addSystem registers the functions about the session and the server.
func addSystem(t function.Table) {
	t.Put("version()", fixedAnswer(Version))
	t.Put("current_database()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return h.Session().Database, nil
	}))
	t.Put("current_user()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return roleName(h, h.Session().User), nil
	}))
	t.Put("session_user()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return roleName(h, h.Session().SessionUser), nil
	}))
	t.Put("current_query()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return h.Session().Query, nil
	}))
	t.Put("current_schema()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		for _, o := range h.Session().Path {
			if s := h.Catalog().Schema(o); s != nil && o != h.Session().Temp {
				return s.Name, nil
			}
		}
		return nil, nil
	}))
	t.Put("current_schemas(bool)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		list := h.Session().Path
		if a[0].(bool) {
			list = objname.SchemaPath(h.Session())
		}
		out := types.Array{Elem: types.Name}
		for _, o := range list {
			if o == h.Session().Temp && !a[0].(bool) {
				continue
			}
			if s := h.Catalog().Schema(o); s != nil {
				out.Elems = append(out.Elems, s.Name)
			} else if o == catalog.PgCatalogOID {
				out.Elems = append(out.Elems, "pg_catalog")
			}
		}
		return out, nil
	}))
	for _, id := range []string{"current_setting(text)", "current_setting(text,bool)"} {
		t.Put(id, hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			v, ok := h.Setting(strings.ToLower(a[0].(string)))
			if !ok {
				if len(a) > 1 && a[1].(bool) {
					return nil, nil
				}
				return nil, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", a[0])
			}
			return v, nil
		}))
	}
	t.Put("set_config(text,text,bool)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
		}
		var to *string
		if v, ok := a[1].(string); ok {
			to = &v
		}
		local, _ := a[2].(bool)
		return function.OrNull(h.Set(strings.ToLower(a[0].(string)), to, local))
	}))
	t.Put("pg_backend_pid()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return int64(h.Session().PID), nil
	}))
	t.Puts(hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return h.Session().ServerStart.UnixMicro(), nil
	}), "pg_postmaster_start_time()", "pg_conf_load_time()")
	xid := hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return h.Session().XID, nil
	})
	t.Puts(xid, "txid_current()", "txid_current_if_assigned()")
	t.Put("row_xmin()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return int64(h.Catalog().Xmin()), nil
	}))
	// The log's place is the version of the newest state that the statement sees.
	lsn := func(version uint64) types.Datum { return fmt.Sprintf("%X/%X", version>>32, uint32(version)) }
	t.Puts(hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return lsn(h.Catalog().Version()), nil
	}), "pg_current_wal_lsn()", "pg_current_wal_insert_lsn()", "pg_current_wal_flush_lsn()")
	t.Put("pg_wal_lsn_diff(pg_lsn,pg_lsn)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil || a[1] == nil {
			return nil, nil
		}
		of := func(d types.Datum) number.Decimal {
			high, low, _ := strings.Cut(d.(string), "/")
			h, _ := strconv.ParseInt(high, 16, 64)
			l, _ := strconv.ParseInt(low, 16, 64)
			d2, _ := number.DecimalFromInt64(h, 0).Mul(number.DecimalFromInt64(1<<32, 0))
			d2, _ = d2.Add(number.DecimalFromInt64(l, 0))
			return d2
		}
		d, err := of(a[0]).Sub(of(a[1]))
		return d, err
	})))
	t.Put("mxid_age(xid)", fixedAnswer(int64(0)))
	t.Put("pg_column_compression(any)", fixedAnswer(nil))
	t.Put("pg_is_in_recovery()", fixedAnswer(false))
	t.Put("pg_is_wal_replay_paused()", function.Always(function.Loose(func(*function.Call, []types.Datum) (types.Datum, error) {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "recovery is not in progress").WithHint("Recovery control functions can only be executed during recovery.")
	})))
	t.Puts(fixedAnswer(nil), "pg_last_wal_receive_lsn()", "pg_last_wal_replay_lsn()", "pg_last_xact_replay_timestamp()", "pg_stat_reset()",
		"pg_stat_reset_single_table_counters(oid)", "pg_stat_reset_single_function_counters(oid)", "pg_stat_reset_slru(text)", "pg_current_logfile()", "pg_current_logfile(text)")
	t.Put("pg_stat_reset_shared(text)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		switch a[0].(string) {
		case "archiver", "bgwriter", "recovery_prefetch", "wal":
			return nil, nil
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized reset target: \"%s\"", a[0]).
			WithHint("Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\".")
	})))
	t.Put("pg_tablespace_location(oid)", fixedAnswer(""))
	t.Put("pg_jit_available()", fixedAnswer(false))
	addAddresses(t)
	t.Put("pg_reload_conf()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		if !h.Catalog().Super(h.Session().User) {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function pg_reload_conf")
		}
		if r, ok := h.(function.Reloader); ok {
			r.Reload()
		}
		return true, nil
	}))
	t.Put("pg_trigger_depth()", fixedAnswer(int64(0)))
	t.Put("pg_stat_clear_snapshot()", fixedAnswer(nil))
	t.Put("pg_notify(text,text)", function.Always(function.Loose(func(*function.Call, []types.Datum) (types.Datum, error) {
		return nil, pgerr.Unsupported("NOTIFY is not supported")
	})))
	t.Put("pg_blocking_pids(int4)", fixedAnswer(types.Array{Elem: types.Int4}))
	t.Puts(fixedAnswer(false), "row_security_active(oid)", "row_security_active(text)")
	t.Put("pg_my_temp_schema()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return int64(h.Session().Temp), nil
	}))
	t.Put("pg_is_other_temp_schema(oid)", fixedAnswer(false))
	t.Put("getdatabaseencoding()", fixedAnswer("UTF8"))
	t.Put("pg_client_encoding()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		v, _ := h.Setting("client_encoding")
		return v, nil
	}))
	t.Put("pg_encoding_to_char(int4)", function.Always(function.Strict1(func(n int64) string {
		if n < 0 || n >= int64(len(textfn.Encodings)) {
			return ""
		}
		return textfn.Encodings[n]
	})))
	t.Put("pg_char_to_encoding(name)", function.Always(function.Strict1(func(s string) int64 {
		for i, e := range textfn.Encodings {
			if textfn.PlainName(e) == textfn.PlainName(s) {
				return int64(i)
			}
		}
		return -1
	})))
	t.Put("pg_encoding_max_length(int4)", function.Always(function.Try1(func(_ *function.Call, n int64) (int64, error) {
		if n == 6 {
			return 4, nil
		}
		return 1, nil
	})))
	t.Put("pg_collation_for(any)", function.Always(function.Loose(func(c *function.Call, _ []types.Datum) (types.Datum, error) {
		switch p, _ := types.PgTypeOf(c.Types[0].OID); {
		case p.Collation == 100:
			return `"default"`, nil
		case p.Collation != 0:
			return `"C"`, nil
		case p.OID == types.UnknownOID:
			return nil, nil
		}
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", c.Types[0])
	})))
	t.Put("pg_typeof(any)", function.Always(function.Loose(func(c *function.Call, _ []types.Datum) (types.Datum, error) {
		return int64(c.Types[0].Described()), nil
	})))
	t.Put("pg_column_size(any)", function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return int64(len(types.AppendBinary(nil, c.Types[0], a[0]))), nil
	})))
	count := func(null bool) function.Maker {
		return function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
			if len(a) == 1 {
				if arr, ok := a[0].(types.Array); ok {
					a = arr.Elems
				}
			}
			n := int64(0)
			for _, d := range a {
				if (d == nil) == null {
					n++
				}
			}
			return n, nil
		}))
	}
	t.Put("num_nulls(any)", count(true))
	t.Put("num_nonnulls(any)", count(false))
	t.Put("gen_random_uuid()", function.Always(function.Try0(func(*function.Call) (u [16]byte, err error) {
		if _, err = rand.Read(u[:]); err != nil {
			return u, err
		}
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return u, nil
	})))
	t.Put("ml_check_labels(bool,text,text)", function.Always(function.Try3(func(_ *function.Call, known bool, model, classes string) (bool, error) {
		if !known {
			return false, pgerr.New(pgerr.InvalidParameterValue, "no row has a label that model \"%s\" knows", model).
				WithDetail("Its labels are %s.", classes)
		}
		return true, nil
	})))
	for _, c := range []struct {
		id, word string
		code     pgerr.Code
	}{{"limit_count(int8)", "LIMIT", pgerr.InvalidRowCountInLimit}, {"offset_count(int8)", "OFFSET", pgerr.InvalidRowCountInOffset}} {
		t.Put(c.id, function.Always(function.Try1(func(_ *function.Call, n int64) (int64, error) {
			if n < 0 {
				return 0, pgerr.New(c.code, "%s must not be negative", c.word)
			}
			return n, nil
		})))
	}
	t.Put("pg_sleep(float8)", function.Always(function.Try1(func(c *function.Call, s float64) (types.Datum, error) { return nil, sleep(c.Ctx, s) })))
	t.Put("pg_sleep_for(interval)", function.Always(function.Try1(func(c *function.Call, iv datetime.Interval) (types.Datum, error) {
		return nil, sleep(c.Ctx, float64(iv.Micros)/1e6+float64(iv.Days)*86400+float64(iv.Months)*30*86400)
	})))
	t.Put("pg_sleep_until(timestamptz)", function.Always(function.Try1(func(c *function.Call, ts int64) (types.Datum, error) {
		return nil, sleep(c.Ctx, float64(ts-time.Now().UnixMicro())/1e6)
	})))
	t.Put("pg_size_pretty(int8)", function.Always(function.Try1(func(_ *function.Call, n int64) (string, error) { return sizePretty(n), nil })))
	t.Put("pg_size_pretty(numeric)", function.Always(function.Try1(func(_ *function.Call, d number.Decimal) (string, error) {
		if v, ok := d.Trunc(0).Int64(); ok && d.Cmp(number.DecimalFromInt64(10240, 0)) >= 0 {
			return sizePretty(v), nil
		}
		return d.String() + " bytes", nil
	})))
	t.Put("pg_size_bytes(text)", function.Always(function.Try1(sizeBytes)))
	addSequences(t)
	addAdvisory(t)
	t.Put("pg_stat_statements_reset(oid,oid,int8)", hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		s, ok := h.(function.StatementCounter)
		if !ok {
			return nil, pgerr.Unsupported("function %s is not supported here", c.Fn.Name)
		}
		if !h.Catalog().Super(h.Session().User) {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", c.Fn.Name)
		}
		return nil, s.ForgetStatements(types.OID(a[0].(int64)), a[2].(int64))
	}))
	for _, id := range []string{"pg_cancel_backend(int4)", "pg_terminate_backend(int4,int8)"} {
		kill := strings.HasPrefix(id, "pg_terminate")
		t.Put(id, hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			s, ok := h.(function.Signaller)
			if !ok {
				return nil, pgerr.Unsupported("function %s is not supported here", c.Fn.Name)
			}
			done, err := s.Signal(int32(a[0].(int64)), kill)
			if err != nil {
				return nil, err
			}
			return done, nil
		}))
	}
}

func roleName(h function.Host, oid types.OID) string {
	if r := h.Catalog().Role(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + strconv.Itoa(int(oid)) + ")"
}

// addAddresses registers the functions of the connection's two ends.
func addAddresses(t function.Table) {
	for _, x := range []struct {
		name string
		of   func(*function.Session) string
	}{{"client", func(s *function.Session) string { return s.Client }}, {"server", func(s *function.Session) string { return s.Server }}} {
		t.Put("inet_"+x.name+"_addr()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
			host, _, err := net.SplitHostPort(x.of(h.Session()))
			if err != nil {
				return nil, nil
			}
			return inet.Parse(host, false)
		}))
		t.Put("inet_"+x.name+"_port()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
			if _, port, err := net.SplitHostPort(x.of(h.Session())); err == nil {
				return timefn.Micros(number.ParseInt(32, port))
			}
			return nil, nil
		}))
	}
}

func sleep(ctx context.Context, seconds float64) error {
	if !(seconds > 0) {
		return nil
	}
	t := time.NewTimer(time.Duration(min(seconds, float64(math.MaxInt64)/2e9) * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sizePretty is pg_size_pretty(): the unit in which the number has at most four
// digits and a bit, halves rounded away from zero.
func sizePretty(n int64) string {
	units := []struct {
		name  string
		limit uint64
		round bool
		bits  uint
	}{{"bytes", 10240, false, 0}, {"kB", 20479, true, 10}, {"MB", 20479, true, 20}, {"GB", 20479, true, 30}, {"TB", 20479, true, 40}, {"PB", 20479, true, 50}}
	v := n
	for i, u := range units {
		if i == len(units)-1 || mathfn.Abs64(v) < u.limit {
			if u.round {
				if v > 0 {
					v++
				} else {
					v--
				}
				v /= 2
			}
			return itoa64(v) + " " + u.name
		}
		// one bit more than the unit is kept, for rounding
		next := units[i+1]
		shift := next.bits - u.bits - uint(vector.ByteOf(next.round)) + uint(vector.ByteOf(u.round))
		v /= 1 << shift
	}
	return ""
}

func itoa64(v int64) string { return number.DecimalFromInt64(v, 0).String() }

func sizeBytes(_ *function.Call, s string) (int64, error) {
	t := strings.TrimSpace(s)
	bad := func() *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", s)
	}
	i := 0
	for i < len(t) && strings.IndexByte("+-.0123456789", t[i]) >= 0 {
		i++
	}
	if i < len(t) && t[i]|0x20 == 'e' {
		j := i + 1
		if j < len(t) && (t[j] == '+' || t[j] == '-') {
			j++
		}
		k := j
		for k < len(t) && t[k] >= '0' && t[k] <= '9' {
			k++
		}
		if k > j {
			i = k
		}
	}
	d, err := number.ParseDecimal(t[:i])
	if err != nil || i == 0 {
		return 0, bad()
	}
	unit := strings.TrimSpace(t[i:])
	mult := int64(1)
	switch strings.ToLower(unit) {
	case "", "bytes", "b":
	case "kb":
		mult = 1 << 10
	case "mb":
		mult = 1 << 20
	case "gb":
		mult = 1 << 30
	case "tb":
		mult = 1 << 40
	case "pb":
		mult = 1 << 50
	default:
		return 0, bad().WithDetail("Invalid size unit: \"%s\".", unit).
			WithHint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
	}
	d, err = d.Mul(number.DecimalFromInt64(mult, 0))
	if err != nil {
		return 0, err
	}
	v, ok := d.Round(0).Int64()
	if !ok {
		return 0, vector.ErrRange(types.Int8)
	}
	return v, nil
}

// nextval fetches the values of consecutive rows of one sequence at once.
func nextval(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	h, err := c.Host()
	if err != nil {
		return nil, err
	}
	out, oid := vector.Alloc[int64](c.Arena, c.N), function.Arg[int64](c, args, 0)
	clear(out)
	for from := 0; from < c.N; {
		if c.Skip(from) {
			from++
			continue
		}
		to, seq := from+1, oid(from)
		if c.Valid == nil && args[0].One {
			to = c.N
		}
		for to < c.N && !c.Skip(to) && oid(to) == seq {
			to++
		}
		if err := h.Nextval(c.Ctx, types.OID(seq), out[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return vector.NewFixed(vector.I64, out, c.Valid), nil
}

func addSequences(t function.Table) {
	t.Put("nextval(regclass)", function.Always(nextval))
	t.Put("currval(regclass)", hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		return timefn.Micros(h.Currval(types.OID(a[0].(int64))))
	}))
	t.Put("lastval()", hosted(func(c *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		return timefn.Micros(h.Lastval())
	}))
	for _, id := range []string{"setval(regclass,int8)", "setval(regclass,int8,bool)"} {
		t.Put(id, hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
			called := len(a) < 3 || a[2].(bool)
			if err := h.Setval(c.Ctx, types.OID(a[0].(int64)), a[1].(int64), called); err != nil {
				return nil, err
			}
			return a[1], nil
		}))
	}
	t.Put("pg_sequence_last_value(regclass)", hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		v := function.SequenceAt(h, types.OID(a[0].(int64)))
		if !v.Called {
			return nil, nil
		}
		return v.Last, nil
	}))
	t.Put("pg_sequence_parameters(oid)", hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		r := h.Catalog().RelationByOID(types.OID(a[0].(int64)))
		if r == nil || r.Seq == nil {
			return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d is not a sequence", a[0])
		}
		s := r.Seq
		return types.Row{s.Start, s.Min, s.Max, s.Increment, s.Cycle, s.Cache, int64(s.Type.OID)}, nil
	}))
}

func addAdvisory(t function.Table) {
	for _, two := range []bool{false, true} {
		args := "(int8)"
		if two {
			args = "(int4,int4)"
		}
		for _, try := range []bool{false, true} {
			for _, xact := range []bool{false, true} {
				for _, shared := range []bool{false, true} {
					name := "pg_"
					if try {
						name += "try_"
					}
					name += "advisory_"
					if xact {
						name += "xact_"
					}
					name += "lock"
					if shared {
						name += "_shared"
					}
					mode := function.AdvisoryMode{Shared: shared, Xact: xact, Try: try}
					t.Put(name+args, hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
						l, ok := h.(function.AdvisoryLocker)
						if !ok {
							return nil, pgerr.Unsupported("advisory locks are not supported")
						}
						got, err := l.AdvisoryLock(c.Ctx, advisoryKey(a), mode)
						if err != nil || !try {
							return nil, err
						}
						return got, nil
					}))
				}
			}
		}
		for _, shared := range []bool{false, true} {
			name := "pg_advisory_unlock"
			if shared {
				name += "_shared"
			}
			t.Put(name+args, hosted(func(c *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
				l, ok := h.(function.AdvisoryLocker)
				if !ok {
					return nil, pgerr.Unsupported("advisory locks are not supported")
				}
				held, err := l.AdvisoryUnlock(advisoryKey(a), shared)
				if err != nil {
					return nil, err
				}
				return held, nil
			}))
		}
	}
	t.Put("pg_export_snapshot()", hosted(func(_ *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		e, ok := h.(function.SnapshotExporter)
		if !ok {
			return nil, pgerr.Unsupported("snapshots are not exported here")
		}
		id, err := e.ExportSnapshot()
		if err != nil {
			return nil, err
		}
		return id, nil
	}))
	t.Put("pg_advisory_unlock_all()", hosted(func(c *function.Call, h function.Host, _ []types.Datum) (types.Datum, error) {
		if l, ok := h.(function.AdvisoryLocker); ok {
			return nil, l.AdvisoryUnlockAll()
		}
		return nil, nil
	}))
}

func advisoryKey(a []types.Datum) function.AdvisoryKey {
	k := function.AdvisoryKey{A: a[0].(int64)}
	if len(a) == 2 {
		k.B, k.Two = a[1].(int64), true
	}
	return k
}

// Register registers the functions about the session, the server and the catalog.
func Register(t function.Table) {
	addSystem(t)
	addCatalog(t)
	addEnums(t)
}
