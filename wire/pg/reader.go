package pg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	readBuffer = 16 << 10
	// smallMessage is the longest message of the kinds that carry only names, as
	// in PostgreSQL (PQ_SMALL_MESSAGE_LIMIT).
	smallMessage = 10000
	// maxAuthMessage bounds what a client may send before it has proved who it is.
	maxAuthMessage = 65535
	// growStep is how much the buffer grows at a time for a message that is longer than it: the
	// announced length is not trusted.
	growStep = 1 << 20
)

// Account is charged for a long message before its memory is allocated.
type Account interface {
	Grow(n int64) error
	Shrink(n int64)
	Close()
}

// refused is an error about one message. The message has been read to its end,
// so the connection goes on.
type refused struct {
	typ byte
	err *pgerr.Error
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

// reader reads messages from a client. It never allocates more than has arrived, except for one
// step.
type reader struct {
	r       *bufio.Reader
	max     int
	account Account // nil counts nothing
	held    int64
	buf     []byte
	// begun, where set, is called when the first byte of a message is there.
	begun func()

	bind     pgproto3.Bind
	close    pgproto3.Close
	data     pgproto3.CopyData
	copyFail pgproto3.CopyFail
	describe pgproto3.Describe
	execute  pgproto3.Execute
	parse    pgproto3.Parse
	query    pgproto3.Query
}

func newReader(r io.Reader, limit int, account Account) *reader {
	return &reader{r: bufio.NewReaderSize(r, readBuffer), max: limit, account: account}
}

// next reads a message; it is valid until the next call. Errors: that of the connection, a FATAL
// *pgerr.Error when the stream is out of step, or *refused.
func (r *reader) next() (pgproto3.FrontendMessage, error) {
	typ, body, err := r.frame()
	if err != nil {
		return nil, err
	}
	var msg pgproto3.FrontendMessage
	switch typ {
	case 'B':
		msg = &r.bind
	case 'C':
		msg = &r.close
	case 'D':
		msg = &r.describe
	case 'E':
		msg = &r.execute
	case 'F':
		// It is never executed, so it is not decoded.
		return &pgproto3.FunctionCall{}, nil
	case 'H':
		msg = &pgproto3.Flush{}
	case 'P':
		msg = &r.parse
	case 'Q':
		msg = &r.query
	case 'S':
		msg = &pgproto3.Sync{}
	case 'X':
		return &pgproto3.Terminate{}, nil
	case 'c':
		msg = &pgproto3.CopyDone{}
	case 'd':
		msg = &r.data
	case 'f':
		msg = &r.copyFail
	default:
		return nil, fatalProtocol("unexpected message type 0x%02X", typ)
	}
	if err := msg.Decode(body); err != nil {
		return nil, &refused{typ, pgerr.New(pgerr.ProtocolViolation, "invalid message format")}
	}
	return msg, nil
}

// frame reads a message's type and body.
func (r *reader) frame() (byte, []byte, error) {
	r.release()
	typ, err := r.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if r.begun != nil {
		r.begun()
	}
	limit, ok := r.limit(typ)
	if !ok {
		return 0, nil, fatalProtocol("invalid frontend message type %d", typ)
	}
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:])))
	if size < 4 || size-4 > int64(limit) {
		e := fatalProtocol("invalid message length")
		if size > 4 {
			e = e.WithDetail("A message of %d bytes was announced; %d are accepted.", size, limit)
		}
		return 0, nil, e
	}
	n := int(size - 4)
	if n <= r.r.Size() {
		body, err := r.r.Peek(n)
		if err != nil {
			return 0, nil, noEOF(err)
		}
		_, _ = r.r.Discard(n)
		return typ, body, nil
	}
	body, err := r.long(typ, n)
	return typ, body, err
}

// limit is the longest body of a message type; false for no known type.
func (r *reader) limit(typ byte) (int, bool) {
	switch typ {
	case 'B', 'F', 'P', 'Q', 'd', 'p':
		return r.max, true
	case 'C', 'D', 'E', 'H', 'S', 'X', 'c', 'f':
		return min(smallMessage, r.max), true
	}
	return 0, false
}

// long reads a body that the buffer cannot hold. Room grows with what arrives.
func (r *reader) long(typ byte, n int) ([]byte, error) {
	for len(r.buf) < n {
		if cap(r.buf) == len(r.buf) {
			room := min(max(2*cap(r.buf), growStep), n)
			if err := r.charge(int64(room - cap(r.buf))); err != nil {
				left := int64(n - len(r.buf))
				r.release()
				if _, err := io.CopyN(io.Discard, r.r, left); err != nil {
					return nil, noEOF(err)
				}
				return nil, &refused{typ, pgerr.From(err)}
			}
			next := make([]byte, len(r.buf), room)
			copy(next, r.buf)
			r.buf = next
		}
		at := len(r.buf)
		r.buf = r.buf[:min(cap(r.buf), n)] // a buffer kept from a longer message has room for more than this one
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return r.buf, nil
}

func (r *reader) charge(n int64) error {
	if r.account == nil {
		return nil
	}
	err := r.account.Grow(n)
	if err == nil {
		r.held += n
	}
	return err
}

// release frees the memory of the last message. A buffer of one step is kept, and stays charged,
// for the messages of a COPY.
func (r *reader) release() {
	r.buf = r.buf[:0]
	if cap(r.buf) <= growStep {
		return
	}
	r.buf = nil
	if r.account != nil {
		r.account.Shrink(r.held)
	}
	r.held = 0
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func fatalProtocol(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.ProtocolViolation, format, args...).WithSeverity(pgerr.SevFatal)
}
