package repl

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fileRef names a file in a request.
type fileRef struct {
	ID     catalog.SegmentID
	Bytes  int64
	SHA256 [32]byte
	From   []uint64 // nodes to get it from, for callCopy
	XXH128 [16]byte
}

// file returns the file as the catalog describes its bytes.
func (r fileRef) file() *catalog.Segment {
	return &catalog.Segment{ID: r.ID, SHA256: r.SHA256, XXH128: r.XXH128}
}

func refOf(s *catalog.Segment) fileRef {
	ref := fileRef{ID: s.ID, Bytes: s.Bytes, SHA256: s.SHA256, XXH128: s.XXH128}
	if ref.Bytes == 0 {
		ref.Bytes = maxBlob
	}
	return ref
}

// maxBlob bounds the size of a file that the catalog has no size for.
const maxBlob = 1 << 40

// straggler is how long Push waits for the last replicas once a majority has the file;
// the leader's loop takes care of slower ones.
const straggler = 2 * time.Second

// Push copies a file this node has just written to its replicas and sets
// s.Nodes to those that have it on stable storage. It returns when all have it,
// or some time after a majority has; fewer is an error.
func (r *Repl) Push(ctx context.Context, s *catalog.Segment) error {
	if s.Inline != nil {
		return nil
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	self := r.c.ID()
	to, need := place.Targets(place.File{ID: s.ID, Part: s.Part, Of: s.Of}, self, r.members(), place.Replicas)
	have := []uint64{self}
	if len(to)+1 < need {
		return pgerr.New(pgerr.InsufficientResources, "could not write to a majority of the replicas").
			WithDetail("%d of the %d nodes needed are alive.", len(to)+1, need)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type done struct {
		node uint64
		err  error
	}
	results := make(chan done, len(to))
	var wg sync.WaitGroup
	for _, n := range to {
		wg.Go(func() { results <- done{n, r.send(ctx, n, s)} })
	}
	defer wg.Wait()
	defer cancel()
	var late <-chan time.Time
	var last error
	for left := len(to); left > 0; {
		if late == nil && len(have) >= need {
			t := time.NewTimer(straggler)
			defer t.Stop()
			late = t.C
		}
		select {
		case d := <-results:
			left--
			if d.err != nil {
				last = d.err
				if ctx.Err() == nil {
					r.failed.note(d.node, time.Now())
				}
				r.o.Log.Warn("a replica did not take a segment", "segment", s.ID, "node", d.node, "err", d.err)
			} else {
				have = append(have, d.node)
			}
		case <-late:
			left = 0
		}
	}
	if len(have) < need {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return pgerr.Wrap(pgerr.InsufficientResources, last, "could not write to a majority of the replicas").
			WithDetail("%d of %d have the segment.", len(have), need)
	}
	slices.Sort(have)
	s.Nodes = have
	return nil
}

func (r *Repl) send(ctx context.Context, node uint64, s *catalog.Segment) error {
	put, err := r.c.Peers().Put(ctx, node, callPush, codec.Marshal(refOf(s)))
	if err != nil {
		return err
	}
	defer put.Cancel()
	if err := r.o.Store.Send(ctx, s.ID, store.NewBlocks(chunk), put.Send); err != nil {
		return err
	}
	_, err = put.Finish()
	return err
}

// handlePush receives a file.
func (r *Repl) handlePush(_ context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
	ref, err := codec.Unmarshal[fileRef](header)
	if err != nil {
		return nil, err
	}
	return nil, r.take(ref, recv)
}

// take stores the bytes that recv returns as a file.
func (r *Repl) take(ref fileRef, recv func() ([]byte, error)) error {
	in, err := r.o.Store.Receive(ref.file())
	if err != nil {
		return err
	}
	var n int64
	for {
		b, err := recv()
		if err == io.EOF {
			return in.Commit()
		}
		if err == nil {
			if n += int64(len(b)); n > ref.Bytes {
				err = &store.CorruptError{Segment: ref.ID, What: "more bytes than it has"}
			} else {
				_, err = in.Write(b)
			}
		}
		if err != nil {
			in.Abort()
			return err
		}
	}
}

// handleFetch sends a file.
func (r *Repl) handleFetch(ctx context.Context, ticket []byte, send func([]byte) error) error {
	id, err := codec.Unmarshal[catalog.SegmentID](ticket)
	if err != nil {
		return err
	}
	return r.o.Store.Send(ctx, id, store.NewBlocks(chunk), send)
}

// Fetch implements store.Remote.
func (r *Repl) Fetch(ctx context.Context, s *catalog.Segment) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	// The catalog may know newer holders than the statement's snapshot.
	return r.get(ctx, refOf(s), s.Nodes)
}

// Repair implements store.Remote: the file here is damaged.
func (r *Repl) Repair(ctx context.Context, s *catalog.Segment) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	err := r.get(ctx, refOf(s), s.Nodes)
	if err != nil {
		r.o.Log.Error("a segment is damaged and could not be repaired", "segment", s.ID, "err", err)
	} else {
		r.o.Log.Warn("a damaged segment was replaced from another replica", "segment", s.ID)
	}
	return err
}

// get fetches a file from one of the nodes, one fetch of a file at a time.
func (r *Repl) get(ctx context.Context, ref fileRef, from []uint64) error {
	shared, err := r.join(ctx, ref, from)
	if err != nil && shared && ctx.Err() == nil { // what another one's fetch met may be over
		_, err = r.join(ctx, ref, from)
	}
	return err
}

// join fetches a file, or waits for whoever does already.
func (r *Repl) join(ctx context.Context, ref fileRef, from []uint64) (shared bool, err error) {
	ch := r.flight.DoChan(ref.ID.String(), func() (any, error) {
		// Others may wait for this fetch: it does not end with one of them.
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		return nil, r.getFrom(ctx, ref, from)
	})
	select {
	case res := <-ch:
		r.stored.trim()
		return res.Shared, res.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *Repl) getFrom(ctx context.Context, ref fileRef, from []uint64) error {
	return r.fromOthers(ctx, ref, from, func(recv func() ([]byte, error)) error { return r.take(ref, recv) })
}

// Read gives the bytes of a file to take, which verifies them, from this node's disk or from another holder: where
// one cannot give them, or take does not like them, take is called again for the next.
func (r *Repl) Read(ctx context.Context, s *catalog.Segment, take func(read func(to func([]byte) error) error) error) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	if r.o.Store.Has(s.ID) {
		err := take(func(to func([]byte) error) error { return r.o.Store.Send(ctx, s.ID, store.OneBlock(), to) })
		var bad *store.CorruptError
		if err == nil || !errors.As(err, &bad) {
			return err
		}
		r.o.Log.Warn("a segment on this node is damaged", "segment", s.ID, "err", err)
	}
	return r.fromOthers(ctx, refOf(s), s.Nodes, func(recv func() ([]byte, error)) error {
		return take(func(to func([]byte) error) error {
			for {
				b, err := recv()
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = to(b)
				}
				if err != nil {
					return err
				}
			}
		})
	})
}

// Install stores the bytes that give passes on as a new file, whose hash s has, and copies it to its replicas as Push
// does.
func (r *Repl) Install(ctx context.Context, s *catalog.Segment, give func(to func([]byte) error) error) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	in, err := r.o.Store.Receive(s)
	if err != nil {
		return err
	}
	err = give(func(b []byte) error {
		_, err := in.Write(b)
		return err
	})
	if err != nil {
		in.Abort()
		return err
	}
	if err := in.Commit(); err != nil {
		return err
	}
	s.Nodes = []uint64{r.c.ID()}
	return r.Push(ctx, s)
}

// fromOthers has take receive a file from one of the nodes: from the next where that fails.
func (r *Repl) fromOthers(ctx context.Context, ref fileRef, from []uint64, take func(recv func() ([]byte, error)) error) error {
	var live, rest []uint64
	// Also a file that a statement's state does not have there yet: since then nodes may have dropped it.
	inBucket := r.o.Bucket != nil && catalog.Storage(r.c.Current()) != ""
	for _, n := range from {
		if n == r.c.ID() || n == catalog.Bucket {
			continue
		}
		if alive, _ := r.c.Liveness(n); alive {
			live = append(live, n)
		} else {
			rest = append(rest, n)
		}
	}
	last := error(&store.CorruptError{Segment: ref.ID, Missing: true})
	if inBucket {
		live = append(live, catalog.Bucket)
	}
	for _, n := range append(live, rest...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n == catalog.Bucket {
			if last = r.stored.give(ctx, ref.file(), take); last == nil || pgerr.Is(last, pgerr.DiskFull) {
				return last
			}
			r.o.Log.Warn("the storage could not give a segment", "segment", ref.ID, "err", last)
			continue
		}
		one, cancel := context.WithCancel(ctx)
		silent := time.AfterFunc(stall, cancel)
		recv, err := r.c.Peers().Get(one, n, callFetch, codec.Marshal(ref.ID))
		if err == nil {
			err = take(func() ([]byte, error) {
				silent.Reset(stall)
				return recv()
			})
		}
		silent.Stop()
		cancel()
		if err == nil {
			return nil
		}
		if pgerr.Is(err, pgerr.DiskFull) {
			return err
		}
		last = err
		if inBucket && dropped(err) {
			continue
		}
		r.o.Log.Warn("a node could not give a segment", "segment", ref.ID, "node", n, "err", err)
	}
	if inBucket && !dropped(last) {
		return last // the storage's own, which may pass
	}
	return pgerr.Wrap(pgerr.DataCorrupted, last, "could not read segment %s from any replica", ref.ID)
}

// handleCopy makes this node a holder of a file.
func (r *Repl) handleCopy(ctx context.Context, ref fileRef) (bool, error) {
	if err := r.ready(ctx); err != nil {
		return false, err
	}
	if r.o.Store.Claim(ref.ID) && r.o.Store.Verify(ctx, ref.file()) == nil {
		return true, nil
	}
	return true, r.get(ctx, ref, ref.From)
}
