package past

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// wanted is a ticket: the state of a time or a version, or if After is not 0 about so many bytes of commits after a version.
type wanted struct {
	Micros  int64
	Version uint64
	After   uint64
	Most    int64
}

// answer is the first part of what Tell sends: the encoded state, or the records, of so many bytes follow. Next is the commit after
// the state.
type answer struct {
	Bytes      int64
	Next       uint64
	NextMicros int64
}

// part is how many bytes are sent at once.
const part = 256 << 10

// Tell answers another node from what this one has written down.
func (h *History) Tell(ctx context.Context, ticket []byte, send func([]byte) error) error {
	w, err := codec.Unmarshal[wanted](ticket)
	if err != nil {
		return err
	}
	var head answer
	var body []byte
	if w.After > 0 {
		var list []Record
		n := 2 * min(max(w.Most, 0), maxRecord) // the records, and what is sent
		if err := h.states.charge(n); err != nil {
			return err
		}
		defer h.states.release(n)
		if list, err = h.Commits(ctx, w.After, n/2); err != nil {
			return err
		}
		for _, r := range list {
			body = r.Append(body)
		}
	} else {
		var e *entry
		if e, err = h.local(ctx, moment{time.UnixMicro(w.Micros), w.Version}); err != nil {
			return err
		}
		n := catalog.EncodedBytes(e.state)
		if err := h.states.charge(n); err != nil {
			return err
		}
		defer h.states.release(n)
		if body, err = e.state.MarshalBinary(); err != nil {
			return err
		}
		h.states.mu.Lock()
		head.Next, head.NextMicros = e.next.Version, e.next.Micros
		h.states.mu.Unlock()
	}
	head.Bytes = int64(len(body))
	if err := send(codec.Marshal(head)); err != nil {
		return err
	}
	for len(body) > 0 && err == nil {
		n := min(part, len(body))
		err, body = send(body[:n]), body[n:]
	}
	return err
}

// at is local, and asks other nodes where this one does not know the moment.
func (h *History) at(ctx context.Context, at moment) (*entry, error) {
	e, err := h.local(ctx, at)
	if h.o.Others == nil || !pgerr.Is(err, pgerr.SnapshotTooOld) {
		return e, err
	}
	e, other := h.elsewhere(ctx, at)
	if other != nil {
		h.o.Log.Debug("no other node knows the past", "at", at, "err", other)
		return nil, cmp.Or(ctx.Err(), err)
	}
	return e, nil
}

// receive reads what Tell has sent, once charge was called for its bytes.
func receive(recv func() ([]byte, error), charge func(int64) error) (head answer, body []byte, err error) {
	b, err := recv()
	if err == nil {
		head, err = codec.Unmarshal[answer](b)
	}
	if err == nil && (head.Bytes < 0 || head.Bytes > maxState) {
		err = errTorn
	}
	if err == nil {
		err = charge(head.Bytes)
	}
	for err == nil && int64(len(body)) < head.Bytes {
		if b, err = recv(); err == nil {
			if body = append(body, b...); int64(len(body)) > head.Bytes {
				err = errTorn
			}
		}
	}
	if err == io.EOF {
		err = errTorn
	}
	return head, body, err
}

// elsewhere has another node say what was at a moment that this one does not know.
func (h *History) elsewhere(ctx context.Context, at moment) (out *entry, err error) {
	err = h.o.Others(ctx, codec.Marshal(wanted{Micros: at.at.UnixMicro(), Version: at.version}), func(recv func() ([]byte, error)) error {
		charged := int64(0)
		head, body, err := receive(recv, func(n int64) error {
			err := h.states.charge(4 * n) // the bytes, and what they become
			if err == nil {
				charged = n
			}
			return err
		})
		if err == nil {
			out, err = h.adopt(at, head, body)
		}
		h.states.release(charged)
		if err != nil {
			h.states.release(3 * charged)
		}
		return err
	})
	return out, err
}

// adopt keeps a state that another node has sent, and for which three times its bytes are charged.
func (h *History) adopt(at moment, head answer, body []byte) (*entry, error) {
	s, err := catalog.UnmarshalState(body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	ours := s.Cluster() == h.cluster
	h.mu.Unlock()
	if !ours || !at.reaches(s) || head.Next <= s.Version() || at.has(head.Next, head.NextMicros) {
		return nil, pgerr.New(pgerr.DataCorrupted, "another node has not sent the state at %s", at)
	}
	return h.states.keep(&entry{bytes: 3 * head.Bytes, charged: true}, s, Record{Version: head.Next, Micros: head.NextMicros})
}

// CommitsOfAll is Commits, and asks other nodes where this one has none.
func (h *History) CommitsOfAll(ctx context.Context, pool *mem.Pool, after uint64, most int64) (out []Record, err error) {
	if out, err = h.Commits(ctx, after, most); err != nil || len(out) > 0 || h.o.Others == nil {
		return out, err
	}
	acct := pool.Account("commits of another node", false)
	defer acct.Close()
	_ = h.o.Others(ctx, codec.Marshal(wanted{After: after, Most: most}), func(recv func() ([]byte, error)) error {
		_, body, err := receive(recv, acct.Grow)
		if err != nil || len(body) == 0 {
			return errTorn
		}
		out = nil
		in, at := bytes.NewReader(body), after
		for in.Len() > 0 {
			r, _, err := ReadRecord(in, nil)
			if err != nil || r.Before != at {
				return errTorn
			}
			out, at = append(out, r), r.Version
		}
		return nil
	})
	return out, ctx.Err()
}
