package block

import (
	"slices"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spare"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// Block is encoded rows in the layout of the kernels: in tiles of f64.Lanes rows, the
// last padded with zeros of weight zero.
//
//	X     dense features, tile by tile, column by column within (package f64)
//	Code  one-hot features, tile by tile likewise: the number of the one that is
//	      1, counted over all one-hot columns, or -1 for none
//	Y     label: a number, or the number of a class; of a duration with an event's
//	      column it has a minus, -0 included, where the event did not happen
//	W     weight; one array for all blocks of NewUnit
//
// A block of windows has Length consecutive rows for each: of window k rows Windows[k]
// to Windows[k]+Length-1. Windows overlap where their stride is less than their length,
// without storing a row twice.
type Block struct {
	Rows  int
	Dense int // columns of X
	Codes int // columns of Code
	X32   []float32
	X64   []float64 // one of the two is set
	Code  []int32
	Y, W  []float64
	More  [][]float64 // the labels of the targets after the first

	Sparse *Sparse // numbers of some slots; nil: there are none

	Windows []int32 // first rows, ascending; nil for a block of rows
	Length  int

	// Groups are the first rows of the groups that rows are of, ascending, of a block whose rows are compared
	// with others of their group alone; nil otherwise. A group ends where the next begins.
	Groups []int32

	// Memory is what the scores of the rows are made in, where they need not last; nil otherwise.
	Memory *vector.Arena

	Hashes []RowHash // of rows of which some will be held out, until they are
}

// New makes a block of zeros; Bytes is its size.
func New(rows, dense, codes int, narrow bool) *Block {
	n := f64.Tiles(rows) * f64.Lanes
	b := &Block{Rows: rows, Dense: dense, Codes: codes, Code: make([]int32, n*codes), Y: spare.Zeroed[float64](n), W: spare.Zeroed[float64](n)}
	if narrow {
		b.X32 = spare.Zeroed[float32](n * dense)
	} else {
		b.X64 = spare.Zeroed[float64](n * dense)
	}
	return b
}

// newDirty is New, without weights, for who writes the dense columns and labels, and says with
// Clear from which row on not: they have whatever their memory had.
func newDirty(rows, dense, codes int, narrow bool) *Block {
	n := f64.Tiles(rows) * f64.Lanes
	b := &Block{Rows: rows, Dense: dense, Codes: codes, Code: make([]int32, n*codes), Y: spare.Dirty[float64](n)}
	if narrow {
		b.X32 = spare.Dirty[float32](n * dense)
	} else {
		b.X64 = spare.Dirty[float64](n * dense)
	}
	return b
}

// Clear makes dense columns, labels and weights zeros from a row on, but weights that are not
// b's own.
func (b *Block) Clear(from int) {
	clear(b.Y[from:])
	if !b.Unit() {
		clear(b.W[from:])
	}
	head := min(f64.Tiles(from)*f64.Lanes, b.Padded())
	for i := from; i < head; i++ {
		for j := range b.Dense {
			b.Set(i, j, 0)
		}
	}
	if b.X32 != nil {
		clear(b.X32[head*b.Dense:])
	} else {
		clear(b.X64[head*b.Dense:])
	}
}

// Reset makes b, which has no labels and no weights, a block of zeros for rows rows, in the
// memory it has if that suffices. dirty leaves whatever the dense columns had: the caller
// writes them.
func (b *Block) Reset(rows int, dirty bool) {
	n := f64.Tiles(rows) * f64.Lanes
	if cap(b.Y) < n || cap(b.Code) < n*b.Codes || cap(b.X32)+cap(b.X64) < n*b.Dense {
		*b = *New(rows, b.Dense, b.Codes, b.X32 != nil)
		return
	}
	b.Rows, b.Windows, b.Length, b.Groups, b.Sparse = rows, nil, 0, nil, nil
	zeros(&b.Code, n*b.Codes)
	b.Y, b.W = b.Y[:n], b.W[:n]
	switch {
	case dirty:
		b.X32, b.X64 = b.X32[:min(n*b.Dense, cap(b.X32))], b.X64[:min(n*b.Dense, cap(b.X64))]
	case b.X32 != nil:
		zeros(&b.X32, n*b.Dense)
	default:
		zeros(&b.X64, n*b.Dense)
	}
}

func zeros[T any](v *[]T, n int) {
	*v = (*v)[:n]
	clear(*v)
}

// Bytes is the size of such a block.
func Bytes(rows, dense, codes int, narrow bool) int64 {
	n := int64(f64.Tiles(rows) * f64.Lanes)
	if narrow {
		return n * int64(4*dense+4*codes+16)
	}
	return n * int64(8*dense+4*codes+16)
}

// Bytes is the size of b.
func (b *Block) Bytes() int64 {
	return Bytes(b.Rows, b.Dense, b.Codes, b.X32 != nil) - b.OwnWeightsBytes() + b.MarksBytes() + HashBytes*int64(len(b.Hashes)) +
		8*int64(len(b.More)*len(b.Y)) + b.Sparse.Bytes()
}

// MarksBytes is what the beginnings of windows or groups take of it.
func (b *Block) MarksBytes() int64 { return 4 * int64(len(b.Windows)+len(b.Groups)) }

// Group returns the rows [from, to) of group k.
func (b *Block) Group(k int) (from, to int) {
	if from, to = int(b.Groups[k]), b.Rows; k+1 < len(b.Groups) {
		to = int(b.Groups[k+1])
	}
	return from, to
}

// Units is the number of what b has labels and scores for: its windows, or its
// rows.
func (b *Block) Units() int {
	if b.Windows != nil {
		return len(b.Windows)
	}
	return b.Rows
}

// End is where a pass over all units ends: rows are worked in whole tiles.
func (b *Block) End() int {
	if b.Windows != nil {
		return len(b.Windows)
	}
	return b.Padded()
}

// Last is the row whose label and weight are those of unit k: a window's last.
func (b *Block) Last(k int) int {
	if b.Windows != nil {
		return int(b.Windows[k]) + b.Length - 1
	}
	return k
}

// Targets returns the labels and weights of the units. Where these are rows they
// are b's own.
func (b *Block) Targets() (y, w []float64) {
	if b.Windows == nil {
		return b.Y[:b.Rows], b.W[:b.Rows]
	}
	y, w = make([]float64, len(b.Windows)), make([]float64, len(b.Windows))
	for k := range y {
		y[k], w[k] = b.Y[b.Last(k)], b.W[b.Last(k)]
	}
	return y, w
}

// Padded is the number of rows with those that fill up the last tile.
func (b *Block) Padded() int { return len(b.Y) }

// First returns the first rows of b, those after which are zeros: in b's memory, or
// as a copy. b is not to be used any more.
func (b *Block) First(rows int, copied bool) *Block {
	n := f64.Tiles(rows) * f64.Lanes
	c := *b
	c.Rows = rows
	c.Code, c.Hashes = first(b.Code, n*b.Codes, copied), first(b.Hashes, rows, copied)
	c.X32, c.X64 = firstSpared(b.X32, n*b.Dense, copied), firstSpared(b.X64, n*b.Dense, copied)
	c.Y = firstSpared(b.Y, n, copied)
	if b.Unit() {
		c.W = unitWeights(rows)
	} else {
		c.W = firstSpared(b.W, n, copied)
	}
	return &c
}

// firstSpared is first of a long array, whose memory the next copy may have.
func firstSpared[T float32 | float64](v []T, n int, copied bool) []T {
	if v == nil || !copied {
		return first(v, n, false)
	}
	c := spare.Dirty[T](n)
	copy(c, v[:n])
	spare.Reuse(v)
	return c
}

func first[T any](v []T, n int, copied bool) []T {
	switch {
	case v == nil:
		return nil
	case copied:
		return slices.Clone(v[:n])
	}
	return v[:n:n]
}

// Blocks keeps blocks in memory, or, once the pool asks for memory back, in a
// mapped file. Reserve, Put and Open may be called from any goroutine.
type Blocks struct {
	cfg   Config
	file  tempfile.File
	mu    sync.Mutex
	acct  *mem.Account
	full  bool // from now on to the file
	items map[int]*stored
	idle  []*mapping // not in use, least recently used first
}

type stored struct {
	b       Block
	windows int // of a block that went to the file
	groups  int // likewise
	hashes  int // likewise
	more    int
	sparse  int // how many numbers, and 1; 0: none
	unit    bool
	disk    *mapping
}

// Config says where blocks, and State, may lie.
type Config struct {
	Pool *mem.Pool // of the job
	Temp string    // directory of temporary files; "" for the system's
}

// NewBlocks makes an empty set.
func NewBlocks(cfg Config) *Blocks {
	b := &Blocks{cfg: cfg, acct: cfg.Pool.Account("training blocks", true), items: map[int]*stored{}}
	b.file.Dir = cfg.Temp
	return b
}

// Reserve charges n bytes, which a later Put takes over or Unreserve releases.
func (s *Blocks) Reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.acct.ShouldSpill() {
		s.full = true
	}
	err := s.acct.Grow(n)
	if err == nil {
		return nil
	}
	if err := s.evictAll(); err != nil {
		return err
	}
	return s.acct.Grow(n)
}

// Evict moves all blocks to the file, for others to have their memory.
func (s *Blocks) Evict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evictAll()
}

// evictAll moves the blocks in memory to the file. The lock is held.
func (s *Blocks) evictAll() error {
	s.full = true
	for _, it := range s.items {
		if err := s.evict(it); err != nil {
			return err
		}
	}
	return nil
}

// TryReserve charges n bytes if there is plenty of memory, and reports whether it
// did.
func (s *Blocks) TryReserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.acct.ShouldSpill() {
		s.full = true
	}
	limit := s.cfg.Pool.Limit()
	if s.full || limit > 0 && float64(s.cfg.Pool.Used()+n) > mem.SpillShare*float64(limit) {
		return false
	}
	return s.acct.Grow(n) == nil
}

// Unreserve releases reserved bytes.
func (s *Blocks) Unreserve(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acct.Shrink(n)
}

// Put keeps a block of reserved size under a number, and forgets the one that was
// there.
func (s *Blocks) Put(id int, b *Block) error {
	it := &stored{b: *b}
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	var e tempfile.Extent
	if full { // written before others can see it
		var err error
		if e, err = s.write(it); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if full {
		s.moved(it, e)
	}
	s.drop(id)
	s.items[id] = it
	return nil
}

// Drop forgets a block.
func (s *Blocks) Drop(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

func (s *Blocks) drop(id int) {
	switch it := s.items[id]; {
	case it == nil || it.disk != nil:
	default:
		s.acct.Shrink(it.b.Bytes())
	}
	delete(s.items, id)
}

// evict moves a block to the file. Called with the lock held.
func (s *Blocks) evict(it *stored) error {
	if it.disk != nil {
		return nil
	}
	e, err := s.write(it)
	if err != nil {
		return err
	}
	s.moved(it, e)
	return nil
}

func (s *Blocks) write(it *stored) (tempfile.Extent, error) {
	b := &it.b
	parts := [][]byte{tempfile.Bytes(b.X64), tempfile.Bytes(b.Y)}
	if !b.Unit() {
		parts = append(parts, tempfile.Bytes(b.W))
	}
	for _, y := range b.More {
		parts = append(parts, tempfile.Bytes(y))
	}
	long, short := b.Sparse.parts()
	parts = append(parts, long...)
	parts = append(parts, tempfile.Bytes(b.X32), tempfile.Bytes(b.Code), tempfile.Bytes(b.Windows), tempfile.Bytes(b.Groups), tempfile.Bytes(b.Hashes))
	return s.file.Write(tempfile.PageSize, append(parts, short...)...)
}

func (s *Blocks) moved(it *stored, e tempfile.Extent) {
	if it.disk != nil {
		return
	}
	b := &it.b
	s.cfg.Pool.AddSpilled(int64(e.Len))
	s.acct.Shrink(b.Bytes())
	it.disk, it.windows, it.groups, it.hashes, it.more, it.unit = &mapping{extent: e}, len(b.Windows), len(b.Groups), len(b.Hashes), len(b.More), b.Unit()
	if b.Sparse != nil {
		it.sparse = len(b.Sparse.Slot) + 1
	}
	*b = Block{Rows: b.Rows, Dense: b.Dense, Codes: b.Codes, X32: narrowMark(b.X32), Length: b.Length}
}

// narrowMark remembers that a block that went to the file is narrow.
func narrowMark(x []float32) []float32 {
	if x == nil {
		return nil
	}
	return []float32{}
}

// End is that of a block, 0 where there is none.
func (s *Blocks) End(id int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch it := s.items[id]; {
	case it == nil:
		return 0
	case it.b.Length > 0 && it.disk != nil:
		return it.windows
	case it.b.Length > 0:
		return len(it.b.Windows)
	default:
		return f64.Tiles(it.b.Rows) * f64.Lanes
	}
}

// Open returns block id, to be read only; release must be called once. A nil
// block means that there is none.
func (s *Blocks) Open(id int) (b *Block, release func(), err error) {
	s.mu.Lock()
	it := s.items[id]
	if it == nil {
		s.mu.Unlock()
		return nil, func() {}, nil
	}
	c, disk, windows, groups, hashes, more, sparse, unit := it.b, it.disk, it.windows, it.groups, it.hashes, it.more, it.sparse, it.unit // all may be evicted from here on
	s.mu.Unlock()
	if disk == nil {
		return &c, func() {}, nil
	}
	m, release, err := s.mapped(disk)
	if err != nil {
		return nil, nil, err
	}
	n := f64.Tiles(c.Rows) * f64.Lanes
	cut := func(size int) []byte {
		p := m[:size]
		m = m[size:]
		return p
	}
	narrow := c.X32 != nil
	c.X32 = nil
	if !narrow {
		c.X64 = tempfile.Numbers[float64](cut(8 * n * c.Dense))
	}
	if c.Y = tempfile.Numbers[float64](cut(8 * n)); unit {
		c.W = unitWeights(c.Rows)
	} else {
		c.W = tempfile.Numbers[float64](cut(8 * n))
	}
	for range more {
		c.More = append(c.More, tempfile.Numbers[float64](cut(8*n)))
	}
	if sparse > 0 {
		c.Sparse = &Sparse{Start: tempfile.Numbers[int64](cut(8 * (n + 1)))}
	}
	if narrow {
		c.X32 = tempfile.Numbers[float32](cut(4 * n * c.Dense))
	}
	c.Code = tempfile.Numbers[int32](cut(4 * n * c.Codes))
	if c.Length > 0 {
		c.Windows = tempfile.Numbers[int32](cut(4 * windows))
	}
	c.Groups = tempfile.Numbers[int32](cut(4 * groups))
	c.Hashes = tempfile.Numbers[RowHash](cut(HashBytes * hashes))
	if sparse > 0 {
		c.Sparse.Slot, c.Sparse.Value = tempfile.Numbers[int32](cut(4*(sparse-1))), tempfile.Numbers[float32](cut(4*(sparse-1)))
	}
	return &c, release, nil
}

// Take returns block id, nil for none, for its caller to change and to Put again: it
// is not kept any more. Its memory stays reserved.
func (s *Blocks) Take(id int) (*Block, error) {
	s.mu.Lock()
	it := s.items[id]
	if it != nil && it.disk == nil {
		delete(s.items, id)
	}
	s.mu.Unlock()
	if it == nil || it.disk == nil {
		if it == nil {
			return nil, nil
		}
		return &it.b, nil
	}
	b, release, err := s.Open(id)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.Reserve(b.Bytes()); err != nil {
		return nil, err
	}
	c := *b
	c.X32, c.X64, c.Code, c.Y = slices.Clone(b.X32), slices.Clone(b.X64), slices.Clone(b.Code), slices.Clone(b.Y)
	if !b.Unit() {
		c.W = slices.Clone(b.W)
	}
	c.Windows, c.Groups, c.Hashes, c.More = slices.Clone(b.Windows), slices.Clone(b.Groups), slices.Clone(b.Hashes), slices.Clone(b.More)
	c.Sparse = b.Sparse.clone()
	for i, y := range c.More {
		c.More[i] = slices.Clone(y)
	}
	s.mu.Lock()
	delete(s.items, id)
	s.mu.Unlock()
	return &c, nil
}

// Move transfers the blocks' charges to another pool of the node: a job leaves them to
// its node (idle), or takes them over. They must not be in use meanwhile.
func (s *Blocks) Move(to *mem.Pool, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Pool = to
	s.acct.Move(to, !idle)
}

// Bytes returns what is charged for the blocks.
func (s *Blocks) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acct.Used()
}

// OnDisk is the size of the file that blocks went to.
func (s *Blocks) OnDisk() int64 { return s.file.Size() }

// Spilled reports whether blocks lie on disk.
func (s *Blocks) Spilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// Close frees all memory and files. No block may be open. It may be called twice.
func (s *Blocks) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if b := &it.b; it.disk == nil {
			spare.Reuse(b.X32)
			spare.Reuse(b.X64)
			spare.Reuse(b.Y)
			if !b.Unit() {
				spare.Reuse(b.W)
			}
		}
	}
	s.unmap(0)
	s.items, s.idle = nil, nil
	s.acct.Close()
	return s.file.Close()
}

// Reset is Close of a set that is used again.
func (s *Blocks) Reset() error {
	err := s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acct, s.items, s.full = s.cfg.Pool.Account("training blocks", true), map[int]*stored{}, false
	return err
}
