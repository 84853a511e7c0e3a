package coord

import (
	"strconv"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
)

// ViewInfo is what system relations need of the session.
func (s *Session) ViewInfo(st *catalog.State) sysview.SessionInfo {
	return sysview.SessionInfo{Role: s.role, PID: int32(s.start.PID), SearchPath: s.pathNames(st), Temp: s.temp}
}

// EvalEnv is the environment of the session's expressions.
func (s *Session) EvalEnv() *eval.Env { return s.evalEnv(nil, nil) }

// SettingRows lists the settings for pg_settings.
func (s *Session) SettingRows() []sysview.SettingRow {
	var out []sysview.SettingRow
	for _, d := range settings.All() {
		v := s.set.Value(d.Name)
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

// PreparedRows lists the session's prepared statements by name.
func (s *Session) PreparedRows() []sysview.PreparedRow {
	var out []sysview.PreparedRow
	for _, name := range sortedKeys(s.named) {
		p := s.named[name]
		r := sysview.PreparedRow{Name: name, Statement: p.piece.Text(), At: p.at, FromSQL: p.sql}
		for _, t := range p.h.params {
			r.Params = append(r.Params, t.OID)
		}
		out = append(out, r)
	}
	return out
}

// CursorRows lists the session's cursors by name.
func (s *Session) CursorRows() []sysview.CursorRow {
	var out []sysview.CursorRow
	for _, name := range sortedKeys(s.cursors) {
		c := s.cursors[name]
		out = append(out, sysview.CursorRow{Name: name, Statement: c.text, Holdable: c.hold, Scrollable: c.scroll > 0, At: c.at})
	}
	return out
}

// OldestRead is the version of the oldest state that a statement of this
// gateway reads; 0 for none.
func (e *Engine) OldestRead() uint64 {
	e.snapshots.mu.Lock()
	defer e.snapshots.mu.Unlock()
	var oldest uint64
	for _, s := range e.Sessions() {
		if v := s.reading.Load(); v != 0 && (oldest == 0 || v < oldest) {
			oldest = v
		}
	}
	return oldest
}
