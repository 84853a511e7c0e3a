package spare

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// spares are long arrays that are gone, by their sizes, until the
// collector finds them. They are held weakly: garbage like any other to it, to
// accounts and to limits, but whoever wants as much may have them first. Fresh memory
// comes from the system a page at a time, each cleared, and much of what the system
// was given back it has given away in turn: touching it for the first time can take
// as long as what is done with it.
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

// Number is what arrays are of.
type Number interface{ float32 | float64 | uint64 }

type spare struct {
	bytes int
	at    weak.Pointer[uint64]
}

const (
	spareFrom  = 64 << 10 // bytes
	spareWaste = 8        // an array may be longer than asked for by one in so many
)

// Reuse keeps v in case that memory is wanted. Nobody uses v any more.
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

// spareAt is where the first spare of at least n bytes is.
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

// Dirty is Zeroed with whatever a spare had.
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

// take takes a spare that has room for n numbers out of the list, nil for none.
// Those that the collector has found go on the way.
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
