package sysview

import (
	"net"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// now returns the statement's clock.
func (v *view) now() time.Time {
	if v.env != nil && v.env.Types != nil && !v.env.Types.Now.IsZero() {
		return v.env.Types.Now
	}
	return time.Now()
}

func pgStatActivity(v *view, put put) error {
	for _, s := range v.host.Sessions() {
		var host, port any
		if h, p, err := net.SplitHostPort(s.ClientAddr); err == nil {
			host = text(h)
			if n, err := strconv.Atoi(p); err == nil {
				port = n
			}
		} else if s.ClientAddr == "" {
			port = -1
		}
		kind := s.BackendType
		if kind == "" {
			kind = "client backend"
		}
		// Statements of other roles are hidden.
		state, query, started, xact, changed := text(s.State), any(s.Text), s.Query, s.Xact, s.StateChange
		var wait, event any
		if s.State != "active" && s.State != "" {
			wait, event = "Client", "ClientRead"
		}
		if s.QueuePlace > 0 {
			wait, event = "Resource", "admission"
		} else if s.LockWait {
			wait, event = "Lock", "advisory"
		}
		if !v.reads(s.User) {
			state, query, started, xact, changed = nil, Hidden, time.Time{}, time.Time{}, time.Time{}
			wait, event, host, port = nil, nil, nil, nil
		}
		err := put(catalog.DatabaseOID, catalog.DatabaseName, s.PID, nil, s.User, s.UserName, s.Application, host, nil, port,
			s.Backend, xact, started, changed, wait, event, state, orNull(s.XID), nil, nil, query, kind)
		if err != nil {
			return err
		}
	}
	return nil
}

func pgStatSSL(v *view, put put) error {
	for _, s := range v.host.Sessions() {
		row := []any{s.PID, false, nil, nil, nil, nil, nil, nil}
		if !v.reads(s.User) {
			row[1] = nil
		} else if t := s.TLS; t != nil {
			row = []any{s.PID, true, t.Version, t.Cipher, int64(t.Bits), orNull(t.ClientDN), nil, orNull(t.Issuer)}
			if t.Serial != "" {
				serial, err := number.ParseDecimal(t.Serial)
				if err != nil {
					return err
				}
				row[6] = serial
			}
		}
		if err := put(row...); err != nil {
			return err
		}
	}
	return nil
}

func pgStatGSSAPI(v *view, put put) error {
	for _, s := range v.host.Sessions() {
		if err := put(s.PID, false, nil, false); err != nil {
			return err
		}
	}
	return nil
}

func pgStatDatabase(v *view, put put) error {
	f := v.fields()
	for i, c := range v.shape.cols {
		switch c.Type.Class() {
		case types.ClassInteger:
			f.row[i] = 0
		case types.ClassFloat:
			f.row[i] = 0.0
		}
	}
	f.set("datid", catalog.DatabaseOID).set("datname", catalog.DatabaseName).set("numbackends", len(v.host.Sessions())).set("checksum_failures", nil)
	return put(f.row...)
}

// onTables produces a row a table with its live and deleted rows; the other counters are not kept
// and are 0.
func onTables(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if !hasRows(r.Kind) {
			continue
		}
		f := v.fields()
		for i, c := range v.shape.cols {
			if c.Type.OID == types.Int8OID {
				f.row[i] = 0
			}
		}
		f.set("relid", r.OID).set("schemaname", v.schemaName(r.Schema)).set("relname", r.Name)
		if _, ok := v.shape.index["n_live_tup"]; ok {
			if m := v.st.Manifest(r.OID); m != nil {
				dead := int64(0)
				for _, p := range m.Partitions {
					for _, s := range p {
						dead += s.DeletedRows
					}
				}
				f.set("n_live_tup", m.Rows()).set("n_dead_tup", dead)
			}
		}
		if err := put(f.row...); err != nil {
			return err
		}
	}
	return nil
}

func onIndexes(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindIndex {
			continue
		}
		t := v.st.RelationByOID(r.Index.Table)
		if t == nil {
			continue
		}
		f := v.fields()
		for i, c := range v.shape.cols {
			if c.Type.OID == types.Int8OID {
				f.row[i] = 0
			}
		}
		f.set("relid", t.OID).set("indexrelid", r.OID).set("schemaname", v.schemaName(r.Schema)).set("relname", t.Name).set("indexrelname", r.Name)
		if err := put(f.row...); err != nil {
			return err
		}
	}
	return nil
}

func onSequences(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind == catalog.KindSequence {
			if err := put(r.OID, v.schemaName(r.Schema), r.Name, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// pgStats produces the statistics of the zone maps.
func pgSettings(v *view, put put) error {
	for _, s := range v.host.Settings() {
		err := put(s.Name, s.Setting, text(s.Unit), s.Category, s.Desc, nil, s.Context, s.Kind, s.Source, text(s.Min), text(s.Max), s.Enum,
			s.Boot, s.Reset, nil, nil, false)
		if err != nil {
			return err
		}
	}
	return nil
}

func pgPreparedStatements(v *view, put put) error {
	for _, p := range v.host.Prepared() {
		params := append([]types.OID{}, p.Params...)
		if err := put(p.Name, p.Statement, p.At, params, p.FromSQL, p.Generic, p.Custom); err != nil {
			return err
		}
	}
	return nil
}

func pgCursors(v *view, put put) error {
	for _, c := range v.host.Cursors() {
		if err := put(c.Name, c.Statement, c.Holdable, c.Binary, c.Scrollable, c.At); err != nil {
			return err
		}
	}
	return nil
}

func pgLocks(v *view, put put) error {
	for _, l := range v.host.Locks() {
		var class, object, sub any
		if l.Type == "advisory" {
			class, object, sub = l.Class, l.Object, l.SubID
		}
		err := put(l.Type, catalog.DatabaseOID, orNull(l.Relation), nil, nil, nil, nil, class, object, sub, nil, l.PID, l.Mode, l.Granted, false, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
