package object

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// blockSize is how much of an object is read at once, and is one file of the cache.
const blockSize = 1 << 20

// Cache holds blocks of objects in a directory, which all statements share: those that were used last, up to a
// number of bytes. A file is a block and its checksum, and has its name once it is complete, so that after a kill
// the directory is as good as before.
type Cache struct {
	dir   string
	limit int64
	acct  *mem.Account // of blocks on their way; may be nil

	mu      sync.Mutex
	used    int64
	blocks  map[string]*list.Element // by file name
	lru     list.List                // of *cached, the one used last in front
	flights map[string]*flight
	slots   chan struct{} // of blocks that are fetched ahead
}

type cached struct {
	name string
	size int64
}

// flight is a block that is being fetched.
type flight struct {
	done chan struct{}
	err  error
}

const (
	blockEnd  = ".block"
	checkSize = 16
	// mostAhead is how many blocks are fetched ahead at once by all statements of a node.
	mostAhead = 16
	// leastFree is what the cache leaves free of the file system.
	leastFree = 1 << 30
)

// OpenCache opens the cache of a directory, and keeps what is there.
func OpenCache(dir string, limit int64, acct *mem.Account) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, disk.Error(err, "could not make the directory of the object cache")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, disk.Error(err, "could not read the directory of the object cache")
	}
	c := &Cache{dir: dir, limit: limit, acct: acct, blocks: map[string]*list.Element{}, flights: map[string]*flight{}, slots: make(chan struct{}, mostAhead)}
	type old struct {
		cached
		at int64
	}
	var all []old
	for _, e := range entries {
		st, err := e.Info()
		switch {
		case err != nil || !st.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), blockEnd) && st.Size() > checkSize && st.Size() <= blockSize+checkSize:
			all = append(all, old{cached{e.Name(), st.Size()}, st.ModTime().UnixNano()})
		case strings.HasSuffix(e.Name(), blockEnd), strings.HasSuffix(e.Name(), tempEnd):
			_ = os.Remove(filepath.Join(dir, e.Name())) // of a process that was killed
		}
	}
	slices.SortFunc(all, func(a, b old) int { return int(max(-1, min(1, a.at-b.at))) })
	for _, o := range all {
		c.add(o.name, o.size)
	}
	return c, nil
}

const tempEnd = ".new"

// add notes a file, and removes those used longest ago for it.
func (c *Cache) add(name string, size int64) {
	c.used += size
	c.blocks[name] = c.lru.PushFront(&cached{name, size})
	for c.used > c.limit && c.lru.Len() > 0 {
		c.drop(c.lru.Back())
	}
}

func (c *Cache) drop(e *list.Element) {
	b := e.Value.(*cached)
	c.lru.Remove(e)
	delete(c.blocks, b.name)
	c.used -= b.size
	_ = os.Remove(filepath.Join(c.dir, b.name))
}

// fileName is the name of a block's file.
func fileName(block string) string {
	sum := sha256.Sum256([]byte(block))
	return hex.EncodeToString(sum[:]) + blockEnd
}

func (c *Cache) has(block string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[fileName(block)] != nil
}

// get opens a block of n bytes, which fetch fills where the cache has it not. It returns nil where there is no room
// for it. Of several that want a block at once, one fetches it.
func (c *Cache) get(ctx context.Context, block string, fetch func([]byte) error, n int) (*os.File, error) {
	name := fileName(block)
	for {
		c.mu.Lock()
		if e := c.blocks[name]; e != nil {
			c.lru.MoveToFront(e)
			c.mu.Unlock()
			if f := c.open(name, n); f != nil {
				return f, nil
			}
			c.mu.Lock()
			if c.blocks[name] == e {
				c.drop(e) // damaged, or removed by somebody
			}
		}
		fl := c.flights[name]
		if fl == nil {
			fl = &flight{done: make(chan struct{})}
			c.flights[name] = fl
			c.mu.Unlock()
			return c.fetch(name, fl, fetch, n)
		}
		c.mu.Unlock()
		select {
		case <-fl.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// Another's error may be that it was cancelled. Where the block was fetched but is not there, the cache
		// cannot keep it.
		if fl.err == nil && !c.has(block) {
			return nil, nil
		}
	}
}

// fetch fetches a block into a file.
func (c *Cache) fetch(name string, fl *flight, fetch func([]byte) error, n int) (f *os.File, err error) {
	defer func() {
		c.mu.Lock()
		fl.err = err
		delete(c.flights, name)
		c.mu.Unlock()
		close(fl.done)
	}()
	need := int64(n + checkSize)
	if free, err := disk.Free(c.dir); need > c.limit || err == nil && free < leastFree {
		return nil, nil
	}
	if c.acct != nil {
		if !c.try(need) {
			return nil, nil
		}
		defer c.release(need)
	}
	b := make([]byte, need)
	if err := fetch(b[:n]); err != nil {
		return nil, err
	}
	sum := xxh3.Hash128Seed(b[:n], xxh3.HashString(name)).Bytes() // a file that has another's name does not fit
	copy(b[n:], sum[:])
	path := filepath.Join(c.dir, name)
	f, err = os.OpenFile(path+tempEnd, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err == nil {
		if _, err = f.Write(b); err == nil {
			err = os.Rename(path+tempEnd, path)
		}
		if err != nil {
			_ = f.Close()
			_ = os.Remove(path + tempEnd)
		}
	}
	if err != nil {
		return nil, nil // the disk's fault is not the reader's
	}
	c.mu.Lock()
	c.add(name, need)
	c.mu.Unlock()
	return f, nil
}

// try charges memory; the account is one for all.
func (c *Cache) try(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acct.Try(n)
}

func (c *Cache) release(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acct.Shrink(n)
}

// open opens a file, and compares its checksum; nil where it is not as it was written.
func (c *Cache) open(name string, n int) *os.File {
	f, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		return nil
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	sum := xxh3.NewSeed(xxh3.HashString(name))
	var kept [checkSize]byte
	_, err = io.CopyBuffer(struct{ io.Writer }{sum}, io.NewSectionReader(f, 0, int64(n)), *buf)
	if err == nil {
		_, err = f.ReadAt(kept[:], int64(n))
	}
	if err == nil && sum.Sum128().Bytes() == kept {
		return f
	}
	_ = f.Close()
	return nil
}

// buffers have the memory through which checksums are computed.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// ParseLimit checks a cache's size.
func ParseLimit(n int64) error {
	if n != 0 && n < 16*blockSize {
		return pgerr.New(pgerr.InvalidParameterValue, "the object cache must have 16MiB at least, or be 0")
	}
	return nil
}
