package rpc

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// cut gives b in buffers of some bytes each, as frames come.
func cut(r *rand.Rand, b []byte) (out mem.BufferSlice) {
	for len(b) > 0 {
		n := min(1+r.IntN(20000), len(b))
		out, b = append(out, mem.SliceBuffer(b[:n])), b[n:]
	}
	return out
}

// TestPiecesAreFlightData: a piece has the bytes that every implementation of Flight
// gives it, and is read however it is cut; so is what is no mere piece, or not what it
// says.
func TestPiecesAreFlightData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	body := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for _, m := range []*flight.FlightData{
		{}, {DataBody: body(1)}, {DataBody: body(127)}, {DataBody: body(128)}, {DataBody: body(200 << 10)}, {DataBody: body(256 << 10)}, {DataBody: body(1 << 20)},
		{DataHeader: []byte("header"), DataBody: body(300)}, {AppMetadata: []byte("more"), DataBody: body(300)},
		{FlightDescriptor: &flight.FlightDescriptor{Cmd: []byte("name")}}, {FlightDescriptor: &flight.FlightDescriptor{Cmd: []byte("name")}, DataBody: body(5)},
	} {
		want, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // in memory that was used before
			coded, err := pieces.Marshal(m)
			if err != nil || !bytes.Equal(coded.Materialize(), want) {
				t.Fatalf("%d bytes are coded otherwise, %v", len(m.DataBody), err)
			}
			coded.Free()
			if m.DataBody != nil && proto.Size(&flight.FlightData{DataBody: m.DataBody}) == len(want) {
				if out, err := pieces.Marshal(lent(m.DataBody)); err != nil || !bytes.Equal(out.Materialize(), want) {
					t.Fatalf("%d bytes that are lent are coded otherwise, %v", len(m.DataBody), err)
				}
			}
			var got flight.FlightData
			if err := pieces.Unmarshal(cut(r, want), &got); err != nil || !proto.Equal(&got, m) {
				t.Fatalf("%d bytes come as %d, %v", len(m.DataBody), len(got.DataBody), err)
			}
			Free(got.DataBody)
		}
	}
	whole, err := proto.Marshal(&flight.FlightData{DataBody: body(300)})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole); n++ {
		if err := pieces.Unmarshal(cut(r, whole[:n]), new(flight.FlightData)); err == nil {
			t.Fatalf("%d of %d bytes were taken for a piece", n, len(whole))
		}
	}
	// A field after the body, as others may send it.
	more := append(bytes.Clone(whole), 0x1a, 1, 'x')
	var got flight.FlightData
	if err := pieces.Unmarshal(cut(r, more), &got); err != nil || string(got.AppMetadata) != "x" || len(got.DataBody) != 300 {
		t.Fatalf("%q behind a body of %d, %v", got.AppMetadata, len(got.DataBody), err)
	}
}
