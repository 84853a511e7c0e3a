package train

import (
	"context"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/reduce"
)

// TestPartialsThatWaitAreCharged: a partial received from another worker is charged until it is
// merged, and one that is never merged until the next task begins.
func TestPartialsThatWaitAreCharged(t *testing.T) {
	tb := mixed(300, 2, 1)
	l, _ := newLocal(t, mustJob(t, "logistic_regression", "y", tb), tb, setup{workers: 2, threads: 1})
	defer l.Close()
	w := l.Workers[0]
	var e canon.E
	list := &usages{make([]Usage, 5000)}
	list.Encode(&e)
	begin := func() *Part {
		p, err := w.Begin(Task{body: &usageTask{}}, func(context.Context, *Shipment) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := w.inbox.Used
	p := begin()
	if err := p.OfferBytes(context.Background(), 0, reduce.Node{Index: 1}, e.B); err != nil {
		t.Fatal(err)
	}
	if got := used(); got < int64(len(e.B)) {
		t.Errorf("a partial of %d bytes waits, and %d are charged", len(e.B), got)
	}
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != 0 { // the merged partial is the worker's and charged elsewhere
		t.Errorf("it was merged, and %d bytes are charged", got)
	}
	p = begin()
	if err := p.OfferBytes(context.Background(), 0, reduce.Node{Index: 1}, e.B); err != nil {
		t.Fatal(err)
	}
	begin()
	if got := used(); got != 0 {
		t.Errorf("its task is over, and %d bytes are charged", got)
	}
	p.release(1) // after its task has ended: no effect
}
