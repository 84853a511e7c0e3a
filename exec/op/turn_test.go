package op

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
)

// busy computes for two milliseconds for each batch.
type busy struct {
	Operator
	at func(n int)
	n  int
}

func (b *busy) Next(context.Context) (*batch.Batch, error) {
	if b.n == 4 {
		return nil, io.EOF
	}
	b.at(b.n)
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
	}
	b.n++
	return batch.New(nil, 1), nil
}

// TestTurn: what is woken while a thread works runs after the batch at the latest, also where there is one processor.
func TestTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	b := &busy{at: func(n int) {
		switch n {
		case 1:
			go ran.Store(true)
		case 2:
			if !ran.Load() {
				t.Error("it has not run yet")
			}
		}
	}}
	c := Count(&Stats{}, []Operator{b}, nil)[0]
	for {
		if _, err := c.Next(t.Context()); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
