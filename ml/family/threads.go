package family

import (
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/op"
)

// Each runs work items 0 … n-1 of a driver on the node's threads; begin makes each thread's function for them. All are run, and
// the error is that of the first item that has one.
func (n *Node) Each(items int, begin func() func(i int) error) error {
	errs := make([]error, items)
	var next atomic.Int64
	thread := func() {
		do := begin()
		for i := int(next.Add(1)) - 1; i < items; i = int(next.Add(1)) - 1 {
			errs[i] = op.Guard("training", func() error { return do(i) })
		}
	}
	if threads := min(n.Threads, items); threads <= 1 {
		thread()
	} else {
		var wg sync.WaitGroup
		for range threads {
			wg.Go(thread)
		}
		wg.Wait()
	}
	for _, err := range errs { // whichever failed first
		if err != nil {
			return err
		}
	}
	return nil
}
