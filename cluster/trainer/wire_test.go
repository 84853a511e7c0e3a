package trainer

import (
	"io"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestHeaders: a header is the same after encoding and decoding, and an invalid one is an error.
func TestHeaders(t *testing.T) {
	m := &broadcast{name: "3.1", iter: 7, size: 1 << 30, who: []int{0, 2, 3}, at: 2, stripe: 1, stripes: 2}
	got, err := decodeBroadcast(m.encode())
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v %v", got, err)
	}
	o := &offer{name: "3.1", iter: 7, slice: 5, node: reduce.Node{Level: 2, Index: 9}, size: 12}
	if got, err := decodeOffer(o.encode()); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("%+v %v", got, err)
	}
	for n := range m.encode() {
		if _, err := decodeBroadcast(m.encode()[:n]); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatalf("a task's header of %d bytes: %v", n, err)
		}
	}
	for i, bad := range []broadcast{{size: 1, who: []int{0, 1}, at: 2, stripes: 1}, {size: 1, who: []int{0, 1}, at: 0, stripes: 1}, {size: 1, who: []int{0, 1}, at: 1, stripes: 3},
		{size: 1, who: []int{0, 1}, at: 1, stripe: 1, stripes: 1}, {who: []int{0, 1}, at: 1, stripes: 1}, {size: 1, who: []int{0, 1}, at: 1}} {
		if _, err := decodeBroadcast(bad.encode()); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("header %d was taken: %v", i, err)
		}
	}
	if _, err := decodeOffer((&offer{size: -1}).encode()); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("an offer of -1 bytes: %v", err)
	}
}

// TestChunks: the chunks of a message have as many bytes together as its header announced; more or
// fewer are an error.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		chunks []int
		size   int
		ok     bool
	}{{nil, 0, true}, {[]int{5}, 5, true}, {[]int{3, 2}, 5, true}, {[]int{3}, 5, false}, {[]int{6}, 5, false}, {[]int{3, 3}, 5, false}} {
		i := 0
		b, err := readChunks(func() ([]byte, error) {
			if i == len(c.chunks) {
				return nil, io.EOF
			}
			i++
			return make([]byte, c.chunks[i-1]), nil
		}, c.size)
		if (err == nil) != c.ok || c.ok && len(b) != c.size {
			t.Errorf("chunks %v of %d bytes: %d, %v", c.chunks, c.size, len(b), err)
		}
	}
	// The stripes of a task, together, have each of its bytes once.
	whole := make([]byte, 5*chunkBytes/2)
	total := 0
	for stripe := range reduce.Stripes {
		next := (&broadcast{stripe: stripe, stripes: reduce.Stripes}).chunks(whole)
		for {
			p, err := next()
			if err != nil {
				break
			}
			for k := range p {
				p[k]++
			}
			total += len(p)
		}
	}
	for i, v := range whole {
		if v != 1 || total != len(whole) {
			t.Fatalf("byte %d comes %d times, %d in all", i, v, total)
		}
	}
}
