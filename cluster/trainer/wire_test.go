package trainer

import (
	"io"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestHeaders: a header is the same after encoding and decoding, and an invalid one is an error.
func TestHeaders(t *testing.T) {
	m := &broadcast{Name: "3.1", Iter: 7, Size: 1 << 30, Who: []int{0, 2, 3}, At: 2, Stripe: 1, Stripes: 2}
	got, err := decodeBroadcast(rpc.Encode(*m))
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v %v", got, err)
	}
	o := &offer{Name: "3.1", Iter: 7, Slice: 5, Node: reduce.Node{Level: 2, Index: 9}, Size: 12}
	if got, err := decodeOffer(rpc.Encode(*o)); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("%+v %v", got, err)
	}
	for n := range rpc.Encode(*m) {
		if _, err := decodeBroadcast(rpc.Encode(*m)[:n]); !pgerr.Is(err, pgerr.ProtocolViolation) {
			t.Fatalf("a task's header of %d bytes: %v", n, err)
		}
	}
	for i, bad := range []broadcast{{Size: 1, Who: []int{0, 1}, At: 2, Stripes: 1}, {Size: 1, Who: []int{0, 1}, At: 0, Stripes: 1}, {Size: 1, Who: []int{0, 1}, At: 1, Stripes: 3},
		{Size: 1, Who: []int{0, 1}, At: 1, Stripe: 1, Stripes: 1}, {Who: []int{0, 1}, At: 1, Stripes: 1}, {Size: 1, Who: []int{0, 1}, At: 1}} {
		if _, err := decodeBroadcast(rpc.Encode(bad)); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("header %d was taken: %v", i, err)
		}
	}
	if _, err := decodeOffer(rpc.Encode(offer{Size: -1})); !pgerr.Is(err, pgerr.DataCorrupted) {
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
		next := (&broadcast{Stripe: stripe, Stripes: reduce.Stripes}).chunks(whole)
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
