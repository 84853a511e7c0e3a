package session

import (
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/sysview"
)

// SettingRows implements query.Host.
func (h *host) SettingRows() []sysview.SettingRow { return query.SettingRows(h.s.set) }

// PreparedRows lists the session's prepared statements by name.
func (h *host) PreparedRows() []sysview.PreparedRow {
	s := h.s
	var out []sysview.PreparedRow
	for _, name := range sortedKeys(s.named) {
		p := s.named[name]
		r := sysview.PreparedRow{Name: name, Statement: p.text(), At: p.at, FromSQL: p.sql}
		for _, t := range p.h.Params {
			r.Params = append(r.Params, t.OID)
		}
		out = append(out, r)
	}
	return out
}

// CursorRows lists the session's cursors by name.
func (h *host) CursorRows() []sysview.CursorRow {
	s := h.s
	var out []sysview.CursorRow
	for _, name := range sortedKeys(s.cursors) {
		c := s.cursors[name]
		out = append(out, sysview.CursorRow{Name: name, Statement: c.Text, Holdable: c.Hold, Scrollable: c.Scroll > 0, At: c.At})
	}
	return out
}
