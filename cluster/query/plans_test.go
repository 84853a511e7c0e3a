package query

import (
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestPlansKept: a cached statement is found only with the same text, caller and definitions as it
// was planned with. The cache keeps the most recently used ones, and none when memory is needed.
func TestPlansKept(t *testing.T) {
	pool := mem.NewPool("n", 0)
	var p plans
	p.begin(pool)
	a, b := catalog.New().Definitions(), catalog.New().Definitions()
	k := planKey{text: "select 1", params: paramKey(nil)}
	one, two := &planner.Bound{}, &planner.Bound{}
	p.keep(k, a, one)
	if p.find(k, a) != one || p.find(k, b) != nil {
		t.Error("not by its definitions")
	}
	other := k
	other.meaning.path = "s"
	if p.find(other, a) != nil {
		t.Error("not by its path")
	}
	p.keep(k, b, two)
	if p.find(k, a) != nil || p.find(k, b) != two {
		t.Error("the newer one is not kept")
	}
	for i := range maxPlans + 100 {
		p.keep(planKey{text: fmt.Sprint("values ", i)}, a, one)
		if i%100 == 0 {
			p.find(k, b) // makes it the most recently used
		}
	}
	if len(p.byKey) != maxPlans || p.used.Len() != maxPlans {
		t.Error(len(p.byKey), p.used.Len())
	}
	if p.find(k, b) != two {
		t.Error("what is wanted is gone")
	}
	if p.find(planKey{text: "values 3"}, a) != nil {
		t.Error("what nobody wants is there")
	}
	if used := p.acct.Used(); used < maxPlans*planBytes {
		t.Errorf("%d bytes are charged", used)
	}
	// When memory is needed all of them are evicted.
	if used := pool.Used(); used != pool.Idle() || p.shed(used) < used || pool.Used() != 0 || p.find(k, b) != nil {
		t.Errorf("%d bytes are left of %d", pool.Used(), used)
	}
	small := mem.NewPool("n", 256<<10)
	var q plans
	q.begin(small)
	for i := range 100 {
		q.keep(planKey{text: fmt.Sprint("select ", i)}, a, one)
	}
	if n := len(q.byKey); n == 0 || n > 40 || q.find(planKey{text: "select 99"}, a) != one {
		t.Errorf("%d are kept", n)
	}
	full := mem.NewPool("n", 1)
	var r plans
	r.begin(full)
	if r.keep(k, a, one); r.find(k, a) != nil {
		t.Error("kept without memory")
	}
}
