package aggregate

import "slices"

// expectFrom is how many groups a table has before memory is allocated for those that the plan
// estimates.
const expectFrom = 8 << 10

// expectTimes bounds that memory to so many times the groups there are: the plan may be wrong.
const expectTimes = 4

// expect allocates memory for the groups that there may be with n more rows, up to the plan's
// estimate: a table that keeps doubling is copied each time, into memory fresh from the system,
// which is half the time of grouping rows that are in the order of their key. It does without where
// memory is short.
func (o *aggThread) expect(n int) {
	t, threads := o.t, o.s.rt.Threads
	want := min(int(o.s.n.Rows)/threads*9/8, expectTimes*(t.n()+n))
	if t.n() == 0 || t.n()+n <= o.expected || want <= 2*t.n() {
		return
	}
	o.expected = want
	each := t.bytes()/int64(t.n()) + 1
	if !o.grant(each * int64(want)) {
		return
	}
	t.words = slices.Grow(t.words, want*t.width-len(t.words))
	for _, a := range t.aggs {
		a.Resize(max(t.n(), want/3*2)) // which takes half as much again
	}
	o.sized = max(o.sized, want/3*2)
}
