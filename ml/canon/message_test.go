package canon

import (
	"errors"
	"reflect"
	"testing"
)

// TestMessagesAreCharged: what a message holds is charged before it is made, in lists of the codec's and in
// those of this package, which may be far longer in memory than in the message.
func TestMessagesAreCharged(t *testing.T) {
	type message struct {
		Name   string
		Bytes  []byte
		Floats []float64
		Pairs  []struct{ A, B int64 }
		Ints   SparseInts
	}
	full := errors.New("no memory")
	for what, c := range map[string]struct {
		m     message
		least int64
	}{
		"text":    {message{Name: string(make([]byte, 1<<20))}, 1 << 20},
		"bytes":   {message{Bytes: make([]byte, 1<<20)}, 1 << 20},
		"numbers": {message{Floats: make([]float64, 1<<17)}, 1 << 20},
		"structs": {message{Pairs: make([]struct{ A, B int64 }, 1<<16)}, 1 << 20},
		"zeros":   {message{Ints: make(SparseInts, 1<<17)}, 1 << 20},
	} {
		var e E
		Put(&e, &c.m)
		charged := int64(0)
		d := ReadWithin(e.B, func(n int64) error { charged += n; return nil })
		if got := Get[message](d); d.Done(what) != nil || !reflect.DeepEqual(*got, c.m) {
			t.Errorf("%s: %v, not the same", what, d.Done(what))
		}
		if charged < c.least {
			t.Errorf("%s: %d bytes are charged", what, charged)
		}
		d = ReadWithin(e.B, func(int64) error { return full })
		if Get[message](d); !errors.Is(d.Done(what), full) {
			t.Errorf("%s: %v", what, d.Done(what))
		}
	}
}
