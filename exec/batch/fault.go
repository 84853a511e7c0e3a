package batch

import (
	"runtime/debug"
	"sync"
	"unsafe"
)

// Columns may lie in a mapped file. Where the disk below fails, or the file is truncated, the
// system answers a load with a signal, which ends the process unless the goroutine has asked for a
// panic instead. So files that batches may lie in are listed here, and code that reads batches does
// it in a Guard.

var mapped struct {
	sync.Mutex
	files map[*mappedFile]struct{}
}

type mappedFile struct {
	from, to uintptr
	fault    func(off int64) error
}

// Mapped lists a mapped file until forget is called, before it is unmapped. fault returns the error
// for an offset in it that cannot be read.
func Mapped(data []byte, fault func(off int64) error) (forget func()) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	m := &mappedFile{from, from + uintptr(len(data)), fault}
	mapped.Lock()
	defer mapped.Unlock()
	if mapped.files == nil {
		mapped.files = map[*mappedFile]struct{}{}
	}
	mapped.files[m] = struct{}{}
	return func() {
		mapped.Lock()
		defer mapped.Unlock()
		delete(mapped.files, m)
	}
}

// Guard runs f and returns its error, or the file's error for a fault in a mapped file. Other
// panics propagate.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if err = Fault(r); err == nil {
				panic(r)
			}
		}
	}()
	return f()
}

// Fault returns the error of the mapped file that a recovered panic is a fault in, where the
// goroutine has such panics (debug.SetPanicOnFault); nil if it is something else.
func Fault(panicked any) error {
	e, ok := panicked.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	at := e.Addr()
	mapped.Lock()
	var hit *mappedFile
	for m := range mapped.files {
		if at >= m.from && at < m.to {
			hit = m
			break
		}
	}
	mapped.Unlock()
	if hit == nil {
		return nil
	}
	return hit.fault(int64(at - hit.from))
}
