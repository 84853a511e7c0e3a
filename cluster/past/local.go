package past

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// moment is a time, or the version of a state.
type moment struct {
	at      time.Time
	version uint64 // 0: at
}

// has reports whether a state is no later.
func (m moment) has(version uint64, micros int64) bool {
	if m.version > 0 {
		return version <= m.version
	}
	return micros <= m.at.UnixMicro()
}

func (m moment) reaches(s *catalog.State) bool {
	return m.has(s.Version(), max(s.Time().UnixMicro(), 0))
}

func (m moment) String() string {
	if m.version > 0 {
		return "version " + strconv.FormatUint(m.version, 10)
	}
	return m.at.UTC().Format("2006-01-02 15:04:05.999999Z07:00")
}

// local finds the state of a moment in what this node has written down.
func (h *History) local(ctx context.Context, at moment) (*entry, error) {
	h.mu.Lock()
	h.flush()
	files, first, pending := slices.Clone(h.files), h.from(), h.pending
	h.mu.Unlock()

	e := h.states.before(at)
	var from *file
	for _, f := range files {
		if f.state && at.has(f.version, f.micros) && (e == nil || f.version > e.state.Version()) {
			from = f
		}
	}
	if pending != nil && at.reaches(pending) && (e == nil || pending.Version() > e.state.Version()) && (from == nil || pending.Version() > from.version) {
		e, from = &entry{state: pending, bytes: 3 * catalog.EncodedBytes(pending)}, nil
	}
	switch {
	case from != nil:
		if err := h.states.charge(3 * from.raw); err != nil {
			return nil, err
		}
		s, err := readState(h.o.Files, from)
		if err != nil {
			h.states.release(3 * from.raw)
			return nil, unknown(at, first).WithDetail("A file of the history cannot be read.")
		}
		e = &entry{state: s, bytes: 3 * from.raw, charged: true}
	case e == nil:
		return nil, unknown(at, first)
	}
	h.states.mu.Lock()
	next := e.next
	h.states.mu.Unlock()
	if next.Version > 0 && !at.has(next.Version, next.Micros) {
		return e, nil // it was asked for before
	}
	s, next, err := h.replay(ctx, files, e.state, at)
	if err != nil {
		if from != nil { // one that is kept stays charged
			h.states.release(e.bytes)
		}
		return nil, err
	}
	return h.states.keep(e, s, next)
}

// unknown is the error of a time of which there is no history.
func unknown(at moment, first time.Time) *pgerr.Error {
	err := pgerr.New(pgerr.SnapshotTooOld, "the past at %s is not known", at)
	if first.IsZero() {
		return err.WithDetail("This node has no history.").WithHint("The past is kept for as long as tributary.retention says.")
	}
	return err.WithDetail("The history of this node begins at %s.", first.UTC().Format("2006-01-02 15:04:05.999999Z07:00")).
		WithHint("The past is kept for as long as tributary.retention says.")
}

// replay applies the commits after a state up to a moment. It returns the commit that follows, too.
func (h *History) replay(ctx context.Context, files []*file, s *catalog.State, at moment) (_ *catalog.State, next Record, _ error) {
	err := h.walk(ctx, files, s.Version(), func(rec Record) (bool, error) {
		if !at.has(rec.Version, rec.Micros) {
			if s.Time().IsZero() { // from before commits had times, or anything was
				return false, unknown(at, time.UnixMicro(rec.Micros))
			}
			next = Record{Version: rec.Version, Micros: rec.Micros}
			return false, nil
		}
		after, err := rec.Apply(s)
		if err != nil {
			return false, errTorn
		}
		s = after
		return true, nil
	})
	switch {
	case errors.Is(err, errTorn):
		return nil, next, unknown(at, time.Time{}).WithDetail("A file of the history cannot be read.")
	case err == nil && next.Version == 0:
		// A later commit would have ended it, and there is one: the time is before the newest state's.
		err = unknown(at, time.Time{}).WithDetail("The history has a gap there: the node did not apply the commits of this time one by one.")
	}
	return s, next, err
}

// walk calls use with the commits after a version for as long as each follows the one before, and there is more to use.
func (h *History) walk(ctx context.Context, files []*file, version uint64, use func(Record) (more bool, err error)) error {
	var buf []byte
	for i, f := range files {
		if f.state || f.version > version {
			continue
		}
		if slices.ContainsFunc(files[i+1:], func(x *file) bool { return !x.state && x.version <= version }) {
			continue // the version is in a later one
		}
		r, err := h.o.Files.Open(f.path)
		if err != nil {
			return errTorn
		}
		more := true
		in := bufio.NewReaderSize(r, 256<<10)
		_, torn := readHeader(in)
		for n := 0; torn == nil && more && err == nil; n++ {
			var rec Record
			if rec, buf, torn = ReadRecord(in, buf); torn != nil || rec.Version <= version {
				continue
			}
			if rec.Before != version {
				break
			}
			rec.Command = slices.Clone(rec.Command) // which the state keeps
			more, err = use(rec)
			if version = rec.Version; n%1000 == 0 && err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
		_ = r.Close()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Commits returns the commits after a version, each of which follows the one before, of about so many bytes at most. There are none
// where the history has a gap.
func (h *History) Commits(ctx context.Context, after uint64, most int64) (out []Record, err error) {
	h.mu.Lock()
	h.flush()
	files := slices.Clone(h.files)
	h.mu.Unlock()
	err = h.walk(ctx, files, after, func(rec Record) (bool, error) {
		out = append(out, rec)
		most -= int64(len(rec.Command)) + recordSize
		return most > 0, nil
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	return out, err
}
