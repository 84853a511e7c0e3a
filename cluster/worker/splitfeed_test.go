package worker

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// noRows is a source whose parts have no rows.
type noRows struct{}

func (noRows) Open(context.Context, *plan.Source, int, int, *mem.Pool) (op.BatchReader, error) {
	return noRows{}, nil
}
func (noRows) Next(context.Context) (*batch.Batch, error) { return nil, io.EOF }
func (noRows) Close() error                               { return nil }

// TestPortionsAreTold reads portions of splits with several threads, in any order: each portion is
// reported once, when its last split has been read, and none after the leaf has ended.
func TestPortionsAreTold(t *testing.T) {
	src := &plan.Source{Name: "s"}
	var f *feed
	var mu sync.Mutex
	var told []int
	read := map[int]int{} // number of splits read, by portion
	sizes := map[int]int{}
	all := make(chan struct{})
	f = newFeed(&plan.Stage{ID: 1, Root: src}, nil, noRows{}, func(id leafID, portion int) {
		mu.Lock()
		defer mu.Unlock()
		if id != (leafID{1, 0}) || slices.Contains(told, portion) || read[portion] != sizes[portion] {
			t.Errorf("leaf %v: portion %d is reported with %d of %d splits read", id, portion, read[portion], sizes[portion])
		}
		if told = append(told, portion); len(told) == len(sizes) {
			close(all)
		}
	})
	r := rand.New(rand.NewPCG(1, 1))
	part := 0
	of := map[int]int{} // the portion of each part
	portion := func() (list []numbered) {
		first := part
		for range 1 + r.IntN(5) {
			list = append(list, numbered{&op.Split{Part: part}, first})
			of[part] = first
			part++
		}
		sizes[first] = len(list)
		return list
	}
	var lists [][]numbered
	for range 50 {
		lists = append(lists, slices.Concat(portion(), portion()))
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				sp, err := f.Next(t.Context(), 0, nil)
				if err != nil {
					return
				}
				in, _ := feedSources{f}.Open(t.Context(), src, sp.Part, 0, nil)
				mu.Lock()
				read[of[sp.Part]]++
				mu.Unlock()
				_ = in.Close()
			}
		})
	}
	for _, l := range lists {
		f.add(0, l...)
	}
	<-all
	f.end(0)
	wg.Wait()
	if n, given := f.progress(); n != part || given != part {
		t.Errorf("%d of %d splits are read, of %d", n, given, part)
	}
	had := len(told)
	last := portion()
	f.add(0, last...)
	for range last {
		sp, _ := f.Next(t.Context(), 0, nil)
		in, _ := feedSources{f}.Open(t.Context(), src, sp.Part, 0, nil)
		_ = in.Close()
	}
	if len(told) != had {
		t.Error("a portion was reported after the end")
	}
}

// TestAhead: while a file of the storage is read, the next ones of the scan are named, each once; a table on disks names none.
func TestAhead(t *testing.T) {
	segs := make([]*catalog.Segment, 8)
	for i := range segs {
		segs[i] = &catalog.Segment{ID: catalog.SegmentID{byte(i)}, Nodes: []uint64{1, catalog.Bucket}}
	}
	split := func(g *catalog.Segment) *op.Split { return &op.Split{Segment: g} }
	var q []numbered
	for _, i := range []int{0, 0, 1, 1, 2, 3, 4, 5} {
		q = append(q, numbered{split: split(segs[i])})
	}
	if got := ahead(split(segs[0]), q); !slices.Equal(got, segs[1:5]) {
		t.Errorf("%d files are named", len(got))
	}
	if got := ahead(split(segs[5]), nil); len(got) > 0 {
		t.Error(got)
	}
	if got := ahead(split(&catalog.Segment{Nodes: []uint64{1}}), q); len(got) > 0 {
		t.Error(got)
	}
}
