package sysview

import (
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Progress is how far a statement is that has a relation pg_stat_progress_*. Its counters may be used from any goroutine,
// the other fields do not change.
type Progress struct {
	Of       string // the relation's name behind pg_stat_progress_
	Command  string
	Type     string // of a COPY
	Relation types.OID

	phase          atomic.Pointer[string]
	Bytes, OfBytes atomic.Int64
	Rows, OfRows   atomic.Int64
}

// Enter sets the phase.
func (p *Progress) Enter(phase string) *Progress {
	p.phase.Store(&phase)
	return p
}

func (p *Progress) phaseNow() any {
	if s := p.phase.Load(); s != nil {
		return *s
	}
	return nil
}

// progressOf makes the producer of pg_stat_progress_<of>, from what fill sets: all numbers of it are 0 before. Of statements
// of other roles only the session is shown.
func progressOf(of string, fill func(f *fields, p *Progress)) func(*view, put) error {
	return func(v *view, put put) error {
		for _, s := range v.host.Sessions() {
			p := s.Progress
			if p == nil || p.Of != of {
				continue
			}
			f := v.fields()
			if v.reads(s.User) {
				for i, c := range v.shape.cols {
					if c.Type.Class() == types.ClassInteger || c.Type.OID == types.OIDOID {
						f.row[i] = 0
					}
				}
				fill(f, p)
			}
			f.set("pid", s.PID)
			if _, ok := v.shape.index["datid"]; ok {
				f.set("datid", catalog.DatabaseOID).set("datname", catalog.DatabaseName)
			}
			if err := put(f.row...); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	pgStatProgressCopy = progressOf("copy", func(f *fields, p *Progress) {
		f.set("relid", p.Relation).set("command", p.Command).set("type", p.Type).set("bytes_processed", p.Bytes.Load()).set("bytes_total", p.OfBytes.Load()).
			set("tuples_processed", p.Rows.Load())
	})
	pgStatProgressCreateIndex = progressOf("create_index", func(f *fields, p *Progress) {
		f.set("relid", p.Relation).set("command", p.Command).set("phase", p.phaseNow()).set("tuples_total", p.OfRows.Load()).set("tuples_done", p.Rows.Load())
	})
	pgStatProgressBasebackup = progressOf("basebackup", func(f *fields, p *Progress) {
		f.set("phase", p.phaseNow()).set("backup_total", orNull(p.OfBytes.Load())).set("backup_streamed", p.Bytes.Load()).set("tablespaces_total", 1)
	})
	pgStatProgressAnalyze = progressOf("analyze", func(f *fields, p *Progress) {
		f.set("relid", p.Relation).set("phase", p.phaseNow()).set("sample_blks_total", p.OfBytes.Load()/blockBytes).set("sample_blks_scanned", p.Bytes.Load()/blockBytes)
	})
)
