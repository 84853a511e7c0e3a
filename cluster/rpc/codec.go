package rpc

import (
	"encoding/binary"
	"sync"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // what messages other than pieces are coded by
	"google.golang.org/grpc/mem"
)

// pieceCodec is the usual one, but for messages that are nothing but a piece of a stream:
// FlightData whose only field is its body. Those it copies once, into memory that
// was used before, where the usual one takes new memory, clears it and copies twice. The
// bytes are the same.
type pieceCodec struct{ encoding.CodecV2 }

var pieces = pieceCodec{encoding.GetCodecV2("proto")}

// bodyTag begins the field data_body, which is number 1000, of bytes.
var bodyTag = [2]byte{0xc2, 0x3e}

// headBytes is the most that is before a body.
const headBytes = len(bodyTag) + binary.MaxVarintLen32

// lent is a piece that is sent out of its sender's memory: what is sent of FlightData whose
// only field is its body.
type lent []byte

// Marshal implements encoding.CodecV2.
func (c pieceCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(lent); ok {
		head := binary.AppendUvarint(append(make([]byte, 0, headBytes), bodyTag[:]...), uint64(len(b)))
		return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(b)}, nil
	}
	m, ok := v.(*flight.FlightData)
	if !ok || m.FlightDescriptor != nil || len(m.DataHeader) > 0 || len(m.AppMetadata) > 0 || len(m.DataBody) == 0 || len(m.ProtoReflect().GetUnknown()) > 0 {
		return c.CodecV2.Marshal(v)
	}
	b := sent.Get(headBytes + len(m.DataBody))
	head := append((*b)[:0], bodyTag[:]...)
	head = binary.AppendUvarint(head, uint64(len(m.DataBody)))
	*b = append(head, m.DataBody...)
	return mem.BufferSlice{mem.NewBuffer(b, &sent)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c pieceCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*flight.FlightData)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	var head [headBytes]byte
	n := data.CopyTo(head[:])
	if n <= len(bodyTag) || [2]byte(head[:2]) != bodyTag {
		return c.CodecV2.Unmarshal(data, v)
	}
	size, used := binary.Uvarint(head[len(bodyTag):n])
	skip := len(bodyTag) + used
	if used <= 0 || size != uint64(data.Len()-skip) {
		return c.CodecV2.Unmarshal(data, v)
	}
	m.Reset()
	m.DataBody = take(int(size))[:0]
	for _, b := range data {
		part := b.ReadOnlyData()
		from := min(skip, len(part))
		skip -= from
		m.DataBody = append(m.DataBody, part[from:]...)
	}
	return nil
}

// reused keeps buffers of one size, for what takes more than least of it. What is in them is
// always written over.
type reused struct {
	sync.Pool
	room, least int
}

// pieceRoom is a piece as the senders of long streams make them, and what is before it;
// other sizes are not kept.
const pieceRoom = 256<<10 + 64

var sent, received = reused{room: pieceRoom, least: pieceRoom / 2}, reused{room: pieceRoom, least: pieceRoom / 2}

// Get implements mem.BufferPool.
func (p *reused) Get(n int) *[]byte {
	if n > p.least && n <= p.room {
		if b, ok := p.Pool.Get().(*[]byte); ok {
			*b = (*b)[:n]
			return b
		}
		b := make([]byte, n, p.room)
		return &b
	}
	b := make([]byte, n)
	return &b
}

// Put implements mem.BufferPool.
func (p *reused) Put(b *[]byte) {
	if cap(*b) == p.room {
		p.Pool.Put(b)
	}
}

// frames are the buffers that frames of HTTP/2, of at most 16 KiB, are read into. gRPC's own
// clears each before it is written over.
type frames struct{ short, long reused }

var read = frames{reused{room: 4 << 10, least: 1 << 10}, reused{room: 16 << 10, least: 4 << 10}}

// Get implements mem.BufferPool.
func (f *frames) Get(n int) *[]byte {
	if n <= f.short.room {
		return f.short.Get(n)
	}
	return f.long.Get(n)
}

// Put implements mem.BufferPool. What is put is somebody else's: it is not looked at again.
func (f *frames) Put(b *[]byte) {
	if cap(*b) == f.short.room {
		f.short.Put(b)
		return
	}
	f.long.Put(b)
}

// take makes room for a piece that is received.
func take(n int) []byte { return *received.Get(n) }

// Free takes back a piece that a stream gave, for others to come: nobody may look at it
// any more. It need not be called.
func Free(piece []byte) { received.Put(&piece) }
