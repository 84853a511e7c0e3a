package groups

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/tempfile"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// Pile takes groups in any order, to give them in the order of their keys: their bytes lie in a temporary file once
// they are many, and in memory are the key and the place of each. It is for one goroutine.
type Pile struct {
	open   func() (Temp, error)
	charge func(bytes int64) error
	temp   Temp // nil: all is in buf
	size   int64
	buf    []byte // what follows what is in temp
	list   []piled
}

// Temp is a temporary file.
type Temp interface {
	io.Writer
	io.ReaderAt
	Close() error
}

type piled struct {
	key    string
	at     int64
	n, sum uint32
}

const pileBuffer = 1 << 20

// NewPile makes an empty one. open makes its file, and charge is called for its memory before it is allocated.
func NewPile(open func() (Temp, error), charge func(bytes int64) error) *Pile {
	return &Pile{open: open, charge: charge}
}

// Len returns how many groups there are.
func (p *Pile) Len() int { return len(p.list) }

// Put adds a group: the encoding of its Group.
func (p *Pile) Put(key []byte, vals []types.Datum, group []byte) error {
	e := &canon.E{B: p.buf}
	e.Bytes(key)
	e.Bytes(codec.Marshal(vals))
	e.Bytes(group)
	return p.added(key, e.B)
}

// added takes the buffer with a record more.
func (p *Pile) added(key, buf []byte) error {
	rec := buf[len(p.buf):]
	need := int64(96 + len(key))
	if p.buf == nil {
		need += pileBuffer
	}
	if err := p.charge(need); err != nil {
		return err
	}
	p.list = append(p.list, piled{string(key), p.size + int64(len(p.buf)), uint32(len(rec)), crc32.Checksum(rec, tempfile.Castagnoli)})
	if p.buf = buf; len(p.buf) < pileBuffer {
		return nil
	}
	if p.temp == nil {
		t, err := p.open()
		if err != nil {
			return err
		}
		p.temp = t
	}
	n, err := p.temp.Write(p.buf)
	p.size, p.buf = p.size+int64(n), p.buf[:0]
	return err
}

// Write writes all groups in the order in which they came, for Restore.
func (p *Pile) Write(w io.Writer) error {
	if p.temp != nil {
		if _, err := io.Copy(w, io.NewSectionReader(p.temp, 0, p.size)); err != nil {
			return err
		}
	}
	_, err := w.Write(p.buf)
	return err
}

// Restore adds what Write wrote.
func (p *Pile) Restore(b []byte) error {
	d := canon.Read(b)
	for d.Left() > 0 {
		rec := b[len(b)-d.Left():]
		key := d.Bytes()
		d.Bytes()
		d.Bytes()
		if !d.OK() {
			return errFile()
		}
		if err := p.added(key, append(p.buf, rec[:len(rec)-d.Left()]...)); err != nil {
			return err
		}
	}
	return nil
}

// Each calls visit with all groups, in the order of their keys; of several with a key with the first that came.
// What it is given is valid until it returns.
func (p *Pile) Each(visit func(key []byte, vals []types.Datum, group []byte) error) error {
	slices.SortStableFunc(p.list, func(a, b piled) int { return strings.Compare(a.key, b.key) })
	var buf []byte
	for i, at := range p.list {
		if i > 0 && p.list[i-1].key == at.key {
			continue
		}
		rec, err := p.read(at, &buf)
		if err != nil {
			return err
		}
		d := canon.Read(rec)
		key, enc, group := d.Bytes(), d.Bytes(), d.Bytes()
		vals, err := codec.Unmarshal[[]types.Datum](enc)
		if err != nil || !d.OK() {
			return errFile()
		}
		if err := visit(key, vals, group); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pile) read(at piled, buf *[]byte) ([]byte, error) {
	if at.at >= p.size {
		return p.buf[at.at-p.size:][:at.n], nil
	}
	*buf = slices.Grow((*buf)[:0], int(at.n))[:at.n]
	if _, err := p.temp.ReadAt(*buf, at.at); err != nil {
		return nil, err
	}
	return *buf, tempfile.Extent{Sum: at.sum}.Check(*buf)
}

// Close removes the file.
func (p *Pile) Close() error {
	if p.temp == nil {
		return nil
	}
	err := p.temp.Close()
	p.temp = nil
	return err
}

// Keys are the keys of groups that need not be trained: a hash of each, sorted.
type Keys []byte

// keyHash is long enough for no two keys of all that there are to have the same.
const keyHash = 16

// mostKeys bounds what a plan has of them: what more groups are finished are trained again.
const mostKeys = 1 << 18

// Keys returns the keys of the groups.
func (p *Pile) Keys() Keys {
	list := make([][keyHash]byte, 0, min(len(p.list), mostKeys))
	for _, at := range p.list[:cap(list)] {
		list = append(list, hashKey([]byte(at.key)))
	}
	slices.SortFunc(list, func(a, b [keyHash]byte) int { return bytes.Compare(a[:], b[:]) })
	out := make(Keys, 0, len(list)*keyHash)
	for i := range list {
		out = append(out, list[i][:]...)
	}
	return out
}

func hashKey(key []byte) (h [keyHash]byte) {
	sum := sha256.Sum256(key)
	copy(h[:], sum[:])
	return h
}

// Has reports whether a key is among them.
func (k Keys) Has(key []byte) bool {
	if len(k) == 0 {
		return false
	}
	h := hashKey(key)
	lo, hi := 0, len(k)/keyHash
	for lo < hi {
		mid := (lo + hi) / 2
		switch c := bytes.Compare(k[mid*keyHash:][:keyHash], h[:]); {
		case c == 0:
			return true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return false
}
