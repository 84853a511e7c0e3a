package aggregate

import "slices"

// expectFrom is how many groups a table has before room is made for those that the plan
// thinks there are.
const expectFrom = 64 << 10

// expectTimes is how many times more groups than there are room is made for: the plan may
// be wrong.
const expectTimes = 4

// expect makes room for the groups that there may be with n more rows, for as many as the
// plan thinks: a table that doubles is copied as often, and takes memory from the system
// for each copy, which is half of what grouping rows in the order of their key takes. It
// does without where memory is short.
func (o *aggThread) expect(n int) {
	t, threads := o.t, o.s.rt.Threads
	want := min(int(o.s.n.Rows)/threads*9/8, expectTimes*(t.n()+n))
	if t.rng == nil || t.n() == 0 || t.n()+n <= o.expected || want <= 2*t.n() {
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
