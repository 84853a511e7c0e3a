package backup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Window is a span of time to every moment of which an archive can be restored.
type Window struct{ From, To time.Time }

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") }

// String says it in words.
func (w Window) String() string { return "from " + moment(w.From) + " to " + moment(w.To) }

// Windows are those of an archive that has these backups, the oldest first.
func (d *Dir) Windows(backups []Head) (out []Window, _ error) {
	logs, err := d.logs()
	if err != nil {
		return nil, err
	}
	bases := slices.DeleteFunc(slices.Clone(backups), func(h Head) bool { return !d.base(h) })
	slices.SortFunc(bases, func(a, b Head) int { return cmp.Compare(a.Version, b.Version) })
	reached := uint64(0) // by the last window
	for _, h := range bases {
		from := time.UnixMicro(h.Micros).UTC()
		version, to := end(logs, h.Version, from)
		if len(out) > 0 && h.Version <= reached {
			if version > reached {
				out[len(out)-1].To, reached = to, version
			}
			continue
		}
		out, reached = append(out, Window{from, to}), version
	}
	return out, nil
}

// Leads reports whether a backup is there from which commits lead to a version, or that is of a later one. read is as for Choose.
func (d *Dir) Leads(version uint64, read func(name string) (*Backup, error)) (bool, error) {
	logs, err := d.logs()
	if err != nil {
		return false, err
	}
	names, err := d.Names()
	if err != nil {
		return false, err
	}
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		switch {
		case pgerr.Is(err, pgerr.DataCorrupted):
			continue
		case err != nil:
			return false, err
		case !d.base(b.Head):
			continue
		}
		if to, _ := end(logs, b.Version, time.Time{}); to >= version {
			return true, nil
		}
	}
	return false, nil
}

// recover returns the newest backup that is no later than a moment, or than the end of the commits if that is zero, with the
// state to which the commits lead from there. Where commits are missing before that end, it must be told the moment: nobody
// is to get an older state without knowing.
func (d *Dir) recover(ctx context.Context, asOf time.Time, read func(name string) (*Backup, error), charge func(int64) error) (*Backup, error) {
	logs, err := d.logs()
	if err != nil {
		return nil, err
	}
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	var damaged error
	var seen []Head
	short := false // commits are missing before the end
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		if pgerr.Is(err, pgerr.DataCorrupted) { // the commits lead from an older one too
			damaged = cmp.Or(damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, b.Head)
		from := time.UnixMicro(b.Micros)
		if !d.base(b.Head) || !asOf.IsZero() && from.After(asOf) {
			continue
		}
		_, to := end(logs, b.Version, from)
		missing := asOf.IsZero() && len(gaps(logs, b.Version)) > 0
		if missing || !asOf.IsZero() && to.Before(asOf) {
			short = short || missing && damaged == nil
			continue // no older one leads there: the others are for the error
		}
		return b, d.replay(ctx, b, logs, asOf, charge)
	}
	if damaged != nil && !short {
		return nil, damaged
	}
	if asOf.IsZero() && !short {
		return nil, pgerr.New(pgerr.UndefinedObject, "archive %q has no backup", d.path)
	}
	windows, err := d.Windows(seen)
	if err != nil {
		return nil, err
	}
	return nil, outside(d.path, asOf, windows)
}

// outside is the error of a moment, zero for the last commit, to which an archive cannot be restored.
func outside(path string, asOf time.Time, windows []Window) error {
	to, or := "its last commit: commits before that are missing", ""
	if !asOf.IsZero() {
		to, or = moment(asOf), " Without a time it is restored to the last commit that it has."
	}
	err := pgerr.New(pgerr.InvalidParameterValue, "archive %q cannot be restored to %s", path, to)
	if len(windows) == 0 {
		return err.WithHint("It has no backup.")
	}
	var list []string
	for _, w := range windows {
		list = append(list, w.String())
	}
	return err.WithHint("It can be restored to any time %s.%s", strings.Join(list, ", and "), or)
}

// replay applies the commits after a backup up to a moment, or all.
func (d *Dir) replay(ctx context.Context, b *Backup, logs []logFile, asOf time.Time, charge func(int64) error) error {
	s, err := b.whole()
	if err != nil {
		return err
	}
	for more := true; more; {
		next := following(logs, s.Version())
		if len(next) == 0 {
			break
		}
		var failed error
		for _, f := range next { // of two that overlap one may be damaged
			if err := ctx.Err(); err != nil {
				return err
			}
			from := s
			_, err := d.eachRecord(f, charge, func(r past.Record) (bool, error) {
				if r.Version <= s.Version() {
					return true, nil
				}
				if more = asOf.IsZero() || r.Micros <= asOf.UnixMicro(); !more {
					return false, nil
				}
				after, err := r.Apply(s)
				if err != nil {
					return false, pgerr.Wrap(pgerr.DataCorrupted, err, "log file %q is damaged: a commit cannot be applied", f.name)
				}
				s = after
				return true, nil
			})
			if err == nil {
				failed = nil
				break
			}
			if !pgerr.Is(err, pgerr.DataCorrupted) {
				return err
			}
			s, more, failed = from, true, cmp.Or(failed, err)
		}
		if failed != nil {
			return failed
		}
	}
	if b.recovered, err = catalog.WithoutSessions(s); err != nil {
		return err
	}
	catalog.DropCheckpoints(b.recovered, func(id catalog.SegmentID) bool {
		_, err := d.fs.Size(d.file(id))
		return errors.Is(err, fs.ErrNotExist)
	})
	return nil
}

// Moment is the time of the state that Catalog returns: that of its last commit.
func (b *Backup) Moment() time.Time {
	if b.recovered != nil {
		return b.recovered.Time()
	}
	return b.At
}
