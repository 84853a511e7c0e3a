package spare

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// spares are long arrays that are not needed any more, by their sizes, until the garbage collector
// frees them. They are held by weak pointers: to it, to accounts and to limits they are garbage,
// but they may be reused before they are collected. Fresh memory comes from the system a page at a
// time, each cleared, and memory that was returned to the system may be in use elsewhere: touching
// it for the first time can take as long as the work on it.
var spares struct {
	sync.Mutex
	list []spare // ascending by size
	most int     // as many are looked through for what the collector has found
}

// reused is how many bytes were ever taken of spares.
var reused atomic.Uint64

// Reused returns how many bytes were ever taken of spares: to the runtime they are neither
// allocated nor free.
func Reused() uint64 { return reused.Load() }

// Number are the element types of arrays.
type Number interface{ float32 | float64 | uint64 }

type spare struct {
	bytes int
	at    weak.Pointer[uint64]
}

const (
	spareFrom  = 64 << 10 // bytes
	spareWaste = 8        // an array may be longer than asked for by one in so many
)

// Reuse keeps v for reuse. The caller must not use v any more.
func Reuse[T Number](v []T) {
	v = v[:cap(v)]
	n := len(raw(v))
	if n < spareFrom {
		return
	}
	s := spare{n, weak.Make((*uint64)(unsafe.Pointer(unsafe.SliceData(v))))}
	spares.Lock()
	defer spares.Unlock()
	if len(spares.list) >= spares.most {
		spares.list = slices.DeleteFunc(spares.list, func(s spare) bool { return s.at.Value() == nil })
		spares.most = 2*len(spares.list) + 64
	}
	spares.list = slices.Insert(spares.list, spareAt(n), s)
}

// spareAt returns the index of the first spare of at least n bytes.
func spareAt(n int) int {
	at, _ := slices.BinarySearchFunc(spares.list, n, func(s spare, n int) int { return cmp.Compare(s.bytes, n) })
	return at
}

// Zeroed returns n zeros, in memory of a spare where there is one of about the size.
func Zeroed[T Number](n int) []T {
	if v := take[T](n); v != nil {
		clear(v)
		return v
	}
	return Zeros[T](n)
}

// Dirty is Zeroed without clearing a reused spare.
func Dirty[T Number](n int) []T {
	if v := take[T](n); v != nil {
		return v
	}
	return Zeros[T](n)
}

// Zeros returns n zeros in large pages, if they are long enough for them.
func Zeros[T Number](n int) []T {
	v := make([]T, n)
	LargePages(raw(v))
	return v
}

// take removes a spare that has room for n numbers from the list and returns it, nil for none.
// Spares that were collected are removed on the way.
func take[T Number](n int) []T {
	var z T
	bytes := n * int(unsafe.Sizeof(z))
	if bytes < spareFrom {
		return nil
	}
	spares.Lock()
	defer spares.Unlock()
	from := spareAt(bytes)
	to := from
	var v *uint64
	for to < len(spares.list) && v == nil && spares.list[to].bytes <= bytes+bytes/spareWaste {
		v = spares.list[to].at.Value()
		to++
	}
	spares.list = slices.Delete(spares.list, from, to)
	if v == nil {
		return nil
	}
	reused.Add(uint64(bytes))
	return unsafe.Slice((*T)(unsafe.Pointer(v)), n)
}

// raw returns the bytes of v.
func raw[T Number](v []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(z)))
}
