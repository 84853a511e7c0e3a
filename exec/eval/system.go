package eval

import (
	"context"
	"crypto/rand"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Version is what version() says, Release the release of this database.
const (
	Version = "PostgreSQL 15.0 (Tributary) on Go, 64-bit"
	Release = "1.0"
)

// hosted adapts a function that needs the host.
func hosted(f func(c *call, h Host, a []types.Datum) (types.Datum, error)) maker {
	return always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		h, err := c.host()
		if err != nil {
			return nil, err
		}
		return f(c, h, a)
	}))
}

func fixedAnswer(d types.Datum) maker {
	return always(loose(func(*call, []types.Datum) (types.Datum, error) { return d, nil }))
}

// addSystem registers the functions about the session and the server.
func addSystem(t table) {
	t.put("version()", fixedAnswer(Version))
	t.put("current_database()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return h.Session().Database, nil }))
	t.put("current_user()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return roleName(h, h.Session().User), nil }))
	t.put("session_user()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
		return roleName(h, h.Session().SessionUser), nil
	}))
	t.put("current_query()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return h.Session().Query, nil }))
	t.put("current_schema()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
		for _, o := range h.Session().Path {
			if s := h.Catalog().Schema(o); s != nil && o != h.Session().Temp {
				return s.Name, nil
			}
		}
		return nil, nil
	}))
	t.put("current_schemas(bool)", hosted(func(_ *call, h Host, a []types.Datum) (types.Datum, error) {
		list := h.Session().Path
		if a[0].(bool) {
			list = schemaPath(h.Session())
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
		t.put(id, hosted(func(_ *call, h Host, a []types.Datum) (types.Datum, error) {
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
	t.put("set_config(text,text,bool)", hosted(func(_ *call, h Host, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
		}
		v, _ := a[1].(string)
		local, _ := a[2].(bool)
		return orNil(h.Set(strings.ToLower(a[0].(string)), v, local))
	}))
	t.put("pg_backend_pid()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return int64(h.Session().PID), nil }))
	t.puts(hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
		return h.Session().ServerStart.UnixMicro(), nil
	}), "pg_postmaster_start_time()", "pg_conf_load_time()")
	xid := hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return h.Session().XID, nil })
	t.puts(xid, "txid_current()", "txid_current_if_assigned()")
	t.put("pg_is_in_recovery()", fixedAnswer(false))
	t.put("pg_is_wal_replay_paused()", always(loose(func(*call, []types.Datum) (types.Datum, error) {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "recovery is not in progress").WithHint("Recovery control functions can only be executed during recovery.")
	})))
	t.puts(fixedAnswer(nil), "pg_last_wal_receive_lsn()", "pg_last_wal_replay_lsn()", "pg_last_xact_replay_timestamp()", "pg_stat_reset()",
		"pg_stat_reset_single_table_counters(oid)", "pg_stat_reset_single_function_counters(oid)", "pg_stat_reset_slru(text)", "pg_current_logfile()", "pg_current_logfile(text)")
	t.put("pg_stat_reset_shared(text)", always(loose(func(_ *call, a []types.Datum) (types.Datum, error) {
		switch a[0].(string) {
		case "archiver", "bgwriter", "recovery_prefetch", "wal":
			return nil, nil
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized reset target: \"%s\"", a[0]).
			WithHint("Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\".")
	})))
	t.put("pg_tablespace_location(oid)", fixedAnswer(""))
	t.put("pg_jit_available()", fixedAnswer(false))
	t.put("host(text)", always(strict1(func(s string) string {
		s, _, _ = strings.Cut(s, "/")
		return s
	})))
	addAddresses(t)
	t.put("pg_reload_conf()", fixedAnswer(true))
	t.put("pg_trigger_depth()", fixedAnswer(int64(0)))
	t.put("pg_stat_clear_snapshot()", fixedAnswer(nil))
	t.put("pg_notify(text,text)", always(loose(func(*call, []types.Datum) (types.Datum, error) {
		return nil, pgerr.Unsupported("NOTIFY is not supported")
	})))
	t.put("pg_blocking_pids(int4)", fixedAnswer(types.Array{Elem: types.Int4}))
	t.puts(fixedAnswer(false), "row_security_active(oid)", "row_security_active(text)")
	t.put("pg_my_temp_schema()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) { return int64(h.Session().Temp), nil }))
	t.put("pg_is_other_temp_schema(oid)", fixedAnswer(false))
	t.puts(fixedAnswer("UTF8"), "getdatabaseencoding()", "pg_client_encoding()")
	t.put("pg_encoding_to_char(int4)", always(strict1(func(n int64) string {
		if n < 0 || n >= int64(len(encodings)) {
			return ""
		}
		return encodings[n]
	})))
	t.put("pg_char_to_encoding(name)", always(strict1(func(s string) int64 {
		for i, e := range encodings {
			if plainName(e) == plainName(s) {
				return int64(i)
			}
		}
		return -1
	})))
	t.put("pg_encoding_max_length(int4)", always(try1(func(_ *call, n int64) (int64, error) {
		if n == 6 {
			return 4, nil
		}
		return 1, nil
	})))
	t.put("pg_collation_for(any)", always(loose(func(c *call, _ []types.Datum) (types.Datum, error) {
		switch c.types[0].OID {
		case types.TextOID, types.VarcharOID, types.BpcharOID:
			return `"default"`, nil
		case types.NameOID:
			return `"C"`, nil
		case types.UnknownOID:
			return nil, nil
		}
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", c.types[0])
	})))
	t.put("pg_typeof(any)", always(loose(func(c *call, _ []types.Datum) (types.Datum, error) { return int64(c.types[0].OID), nil })))
	t.put("pg_column_size(any)", always(loose(func(c *call, a []types.Datum) (types.Datum, error) {
		return int64(len(types.AppendBinary(nil, c.types[0], a[0]))), nil
	})))
	count := func(null bool) maker {
		return always(loose(func(_ *call, a []types.Datum) (types.Datum, error) {
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
	t.put("num_nulls(any)", count(true))
	t.put("num_nonnulls(any)", count(false))
	t.put("gen_random_uuid()", always(try0(func(*call) (u [16]byte, err error) {
		if _, err = rand.Read(u[:]); err != nil {
			return u, err
		}
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return u, nil
	})))
	t.put("ml_check_labels(int8,int8,text,text)", always(try4(func(_ *call, known, labels int64, model, classes string) (bool, error) {
		if known == 0 && labels > 0 {
			return false, pgerr.New(pgerr.InvalidParameterValue, "no row has a label that model \"%s\" knows", model).
				WithDetail("Its labels are %s.", classes)
		}
		return true, nil
	})))
	t.put("pg_sleep(float8)", always(try1(func(c *call, s float64) (types.Datum, error) { return nil, sleep(c.ctx, s) })))
	t.put("pg_sleep_for(interval)", always(try1(func(c *call, iv datetime.Interval) (types.Datum, error) {
		return nil, sleep(c.ctx, float64(iv.Micros)/1e6+float64(iv.Days)*86400+float64(iv.Months)*30*86400)
	})))
	t.put("pg_sleep_until(timestamptz)", always(try1(func(c *call, ts int64) (types.Datum, error) {
		return nil, sleep(c.ctx, float64(ts-time.Now().UnixMicro())/1e6)
	})))
	t.put("pg_size_pretty(int8)", always(try1(func(_ *call, n int64) (string, error) { return sizePretty(n), nil })))
	t.put("pg_size_pretty(numeric)", always(try1(func(_ *call, d number.Decimal) (string, error) {
		if v, ok := d.Trunc(0).Int64(); ok && d.Cmp(number.DecimalFromInt64(10240, 0)) >= 0 {
			return sizePretty(v), nil
		}
		return d.String() + " bytes", nil
	})))
	t.put("pg_size_bytes(text)", always(try1(sizeBytes)))
	addSequences(t)
	addAdvisory(t)
	for _, id := range []string{"pg_cancel_backend(int4)", "pg_terminate_backend(int4,int8)"} {
		kill := strings.HasPrefix(id, "pg_terminate")
		t.put(id, hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
			s, ok := h.(Signaller)
			if !ok {
				return nil, pgerr.Unsupported("function %s is not supported here", c.f.Name)
			}
			done, err := s.Signal(int32(a[0].(int64)), kill)
			if err != nil {
				return nil, err
			}
			return done, nil
		}))
	}
}

func roleName(h Host, oid types.OID) string {
	if r := h.Catalog().Role(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + strconv.Itoa(int(oid)) + ")"
}

// addAddresses registers the functions of the connection's two ends. PostgreSQL
// gives values of type inet; here they are text.
func addAddresses(t table) {
	for _, x := range []struct {
		name string
		of   func(*Session) string
	}{{"client", func(s *Session) string { return s.Client }}, {"server", func(s *Session) string { return s.Server }}} {
		t.put("inet_"+x.name+"_addr()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
			if host, _, err := net.SplitHostPort(x.of(h.Session())); err == nil {
				return host, nil
			}
			return nil, nil
		}))
		t.put("inet_"+x.name+"_port()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
			if _, port, err := net.SplitHostPort(x.of(h.Session())); err == nil {
				return micros(number.ParseInt(32, port))
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
		if i == len(units)-1 || abs64(v) < u.limit {
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
		// a unit that rounds keeps one bit to round by
		next := units[i+1]
		shift := next.bits - u.bits - uint(b2u(next.round)) + uint(b2u(u.round))
		v /= 1 << shift
	}
	return ""
}

func itoa64(v int64) string { return number.DecimalFromInt64(v, 0).String() }

func sizeBytes(_ *call, s string) (int64, error) {
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
		return 0, errRange(types.Int8)
	}
	return v, nil
}

// nextval asks for the values of all rows in a row of one sequence at once.
func nextval(c *call, args []*vec) (*vec, error) {
	h, err := c.host()
	if err != nil {
		return nil, err
	}
	out, oid := alloc[int64](c.a, c.n), arg[int64](c, args, 0)
	clear(out)
	for from := 0; from < c.n; {
		if c.skip(from) {
			from++
			continue
		}
		to, seq := from+1, oid(from)
		for to < c.n && !c.skip(to) && oid(to) == seq {
			to++
		}
		if err := h.Nextval(c.ctx, types.OID(seq), out[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return fixedVec(kI64, out, c.valid), nil
}

func addSequences(t table) {
	t.put("nextval(regclass)", always(nextval))
	t.put("currval(regclass)", hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
		return micros(h.Currval(types.OID(a[0].(int64))))
	}))
	t.put("lastval()", hosted(func(c *call, h Host, _ []types.Datum) (types.Datum, error) { return micros(h.Lastval()) }))
	for _, id := range []string{"setval(regclass,int8)", "setval(regclass,int8,bool)"} {
		t.put(id, hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
			called := len(a) < 3 || a[2].(bool)
			if err := h.Setval(c.ctx, types.OID(a[0].(int64)), a[1].(int64), called); err != nil {
				return nil, err
			}
			return a[1], nil
		}))
	}
	t.put("pg_sequence_last_value(regclass)", hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
		v := h.Catalog().SequenceAt(types.OID(a[0].(int64)))
		if !v.Called {
			return nil, nil
		}
		return v.Last, nil
	}))
	t.put("pg_sequence_parameters(oid)", hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
		r := h.Catalog().RelationByOID(types.OID(a[0].(int64)))
		if r == nil || r.Seq == nil {
			return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d is not a sequence", a[0])
		}
		s := r.Seq
		return types.Row{s.Start, s.Min, s.Max, s.Increment, s.Cycle, s.Cache, int64(s.Type.OID)}, nil
	}))
}

func addAdvisory(t table) {
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
					mode := AdvisoryMode{Shared: shared, Xact: xact, Try: try}
					t.put(name+args, hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
						l, ok := h.(AdvisoryLocker)
						if !ok {
							return nil, pgerr.Unsupported("advisory locks are not supported")
						}
						got, err := l.AdvisoryLock(c.ctx, advisoryKey(a), mode)
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
			t.put(name+args, hosted(func(c *call, h Host, a []types.Datum) (types.Datum, error) {
				l, ok := h.(AdvisoryLocker)
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
	t.put("pg_export_snapshot()", hosted(func(_ *call, h Host, _ []types.Datum) (types.Datum, error) {
		e, ok := h.(SnapshotExporter)
		if !ok {
			return nil, pgerr.Unsupported("snapshots are not exported here")
		}
		id, err := e.ExportSnapshot()
		if err != nil {
			return nil, err
		}
		return id, nil
	}))
	t.put("pg_advisory_unlock_all()", hosted(func(c *call, h Host, _ []types.Datum) (types.Datum, error) {
		if l, ok := h.(AdvisoryLocker); ok {
			return nil, l.AdvisoryUnlockAll()
		}
		return nil, nil
	}))
}

func advisoryKey(a []types.Datum) AdvisoryKey {
	k := AdvisoryKey{A: a[0].(int64)}
	if len(a) == 2 {
		k.B, k.Two = a[1].(int64), true
	}
	return k
}

// registerSystem registers the functions about the session, the server and the catalog.
func registerSystem(t table) {
	addSystem(t)
	addCatalog(t)
	addEnums(t)
}
