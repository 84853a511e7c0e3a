package raftnode

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// bbolt trusts its pages: a damaged page causes a panic, in part in goroutines of its
// own, which ends the process. So the file is checked before bbolt opens it.

const (
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	boltHeader    = 16 // id, flags, count, overflow
	boltElement   = 16 // of a branch or a leaf
	boltMetaBytes = 64
	boltBranch    = 1
	boltLeaf      = 2
	boltMaxDepth  = 64
)

// boltCheck is a walk over the pages of a bbolt file.
type boltCheck struct {
	b    []byte
	size uint64 // of a page
	high uint64 // number of pages
	seen map[uint64]bool
	// fresh is set for a file that nothing was written to yet, not even the buckets'
	// names.
	fresh bool
}

// checkBolt checks the structure of a bbolt file; the error says what is wrong with it.
func checkBolt(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("the file is empty")
	}
	var root, high, size, tx uint64
	found := false
	// The second meta page is one page further. The page size is in the first meta page,
	// which may be damaged.
	for _, at := range []int{0, 4096, 8192, 16384, 32768, 65536} {
		if len(b) < at+boltHeader+boltMetaBytes {
			break
		}
		m := b[at+boltHeader:]
		h := fnv.New64a()
		_, _ = h.Write(m[:boltMetaBytes-8])
		if le.Uint32(m) != boltMagic || le.Uint32(m[4:]) != boltVersion || le.Uint64(m[56:]) != h.Sum64() {
			continue
		}
		if at != 0 && uint64(le.Uint32(m[8:])) != uint64(at) {
			continue
		}
		if t := le.Uint64(m[48:]); !found || t > tx {
			found, tx = true, t
			size, root, high = uint64(le.Uint32(m[8:])), le.Uint64(m[16:]), le.Uint64(m[40:])
		}
	}
	if !found {
		return fmt.Errorf("neither of its first pages is good")
	}
	if size < 1024 || size > 1<<16 || high > uint64(len(b))/size {
		return fmt.Errorf("it has %d bytes, and %d pages of %d are in use", len(b), high, size)
	}
	c := &boltCheck{b: b, size: size, high: high, fresh: tx < 2, seen: map[uint64]bool{0: true, 1: true}}
	return c.page(root, 0)
}

var le = binary.LittleEndian

// page checks a page and all below it.
func (c *boltCheck) page(id uint64, depth int) error {
	if id >= c.high || c.seen[id] || depth > boltMaxDepth {
		return fmt.Errorf("a reference to page %d is wrong", id)
	}
	p := c.b[id*c.size:]
	more := uint64(le.Uint32(p[12:]))
	if le.Uint64(p) != id || more >= c.high-id {
		return fmt.Errorf("page %d is not what it should be", id)
	}
	for i := range more + 1 {
		if c.seen[id+i] {
			return fmt.Errorf("page %d is used twice", id+i)
		}
		c.seen[id+i] = true
	}
	return c.elements(id, p[:(more+1)*c.size], depth)
}

// elements checks what lies on a page, or in a bucket that lies on one.
func (c *boltCheck) elements(id uint64, p []byte, depth int) error {
	bad := func() error { return fmt.Errorf("page %d is damaged", id) }
	if len(p) < boltHeader {
		return bad()
	}
	flags, n := le.Uint16(p[8:]), int(le.Uint16(p[10:]))
	if n == 0xFFFF || boltHeader+n*boltElement > len(p) || flags != boltBranch && flags != boltLeaf || flags == boltBranch && n == 0 {
		return bad()
	}
	if depth == 0 && n == 0 && !c.fresh {
		return bad()
	}
	var last []byte
	for i := range n {
		at := boltHeader + i*boltElement
		e := p[at:]
		var pos, klen, vlen uint64
		if flags == boltBranch {
			pos, klen = uint64(le.Uint32(e)), uint64(le.Uint32(e[4:]))
		} else {
			pos, klen, vlen = uint64(le.Uint32(e[4:])), uint64(le.Uint32(e[8:])), uint64(le.Uint32(e[12:]))
		}
		from := uint64(at) + pos
		if from+klen+vlen > uint64(len(p)) || klen == 0 {
			return bad()
		}
		key := p[from : from+klen]
		if i > 0 && string(key) <= string(last) {
			return bad()
		}
		last = key
		// A bucket under a damaged name would look missing, and an empty one would be
		// created.
		if name := string(key); depth == 0 && (n != 2 || name != "conf" && name != "logs") {
			return fmt.Errorf("page %d names %d buckets, among them %q", id, n, name)
		}
		switch {
		case flags == boltBranch:
			if err := c.page(le.Uint64(e[8:]), depth+1); err != nil {
				return err
			}
		case le.Uint32(e) == 1: // a bucket
			v := p[from+klen : from+klen+vlen]
			if len(v) < 16 {
				return bad()
			}
			err := error(nil)
			if root := le.Uint64(v); root != 0 {
				err = c.page(root, depth+1)
			} else {
				err = c.elements(id, v[16:], depth+1)
			}
			if err != nil {
				return err
			}
		case le.Uint32(e) != 0:
			return bad()
		}
	}
	return nil
}
