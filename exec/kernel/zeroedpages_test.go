package kernel

import "testing"

func TestFresh(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8191, 8192, 100_000} {
		s := Fresh[uint64](n, 2*n+1)
		if len(s) != n || cap(s) < 2*n+1 {
			t.Fatalf("%d of %d numbers", len(s), cap(s))
		}
		for i, v := range s[:cap(s)] {
			if v != 0 {
				t.Fatalf("number %d is %d", i, v)
			}
		}
	}
	if s := Fresh[[3]int64](50_000, 50_000); s[49_999] != [3]int64{} {
		t.Error("no zeros")
	}
}
