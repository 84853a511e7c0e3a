package raftnode

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// TestBoltEntries: the encoding of entries is byte for byte raft-boltdb's, and they are read back
// unchanged.
func TestBoltEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b, err := openBolt(filepath.Join(t.TempDir(), "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.db.Close()
	var entries []*raft.Log
	index := uint64(0)
	for i := range 400 {
		index += 1 + r.Uint64()>>(40+r.IntN(24))
		e := &raft.Log{Index: index, Term: r.Uint64() >> r.IntN(64), Type: raft.LogType(r.IntN(6))}
		if i%5 > 0 {
			e.Data = make([]byte, r.IntN(1<<r.IntN(18)))
			for k := range e.Data {
				e.Data[k] = byte(r.Uint32())
			}
		}
		switch i % 3 {
		case 1:
			e.AppendedAt = time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()
		case 2:
			e.AppendedAt = time.Unix(r.Int64N(1<<33), 0).In(time.FixedZone("", r.IntN(50000)))
		}
		entries = append(entries, e)
		with := *e
		with.Extensions = sumOf(e)
		var want bytes.Buffer
		handle := &codec.MsgpackHandle{}
		handle.TimeNotBuiltin = true
		if err := codec.NewEncoder(&want, handle).Encode(&with); err != nil {
			t.Fatal(err)
		}
		if got, err := appendEntry(nil, e, with.Extensions); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("entry %d: %v\n%x, not\n%x", i, err, got, want.Bytes())
		}
		if room := want.Len() - len(e.Data); room > entryRoom {
			t.Fatalf("%d bytes beside its data", room)
		}
	}
	if err := b.store(entries, []byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(entries[300].Index, entries[350].Index-1); err != nil {
		t.Fatal(err)
	}
	if v, err := b.value([]byte("key")); err != nil || string(v) != "value" {
		t.Error(v, err)
	}
	if first, last, err := b.ends(); err != nil || first != entries[0].Index || last != index {
		t.Error(first, last, err)
	}
	for i, e := range entries {
		var got raft.Log
		err := b.entry(e.Index, &got)
		if i >= 300 && i < 350 {
			if err != raft.ErrLogNotFound {
				t.Errorf("entry %d: %v", i, err)
			}
			continue
		}
		if !got.AppendedAt.Equal(e.AppendedAt) {
			t.Errorf("entry %d is of %v, not %v", i, got.AppendedAt, e.AppendedAt)
		}
		got.AppendedAt = e.AppendedAt
		want := *e
		want.Extensions = sumOf(e)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
}
