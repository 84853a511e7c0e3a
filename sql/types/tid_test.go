package types

import "testing"

// TestTID reads the texts of tids as PostgreSQL 15 does, from whose answers these are; "" is an error.
func TestTID(t *testing.T) {
	for in, want := range map[string]string{
		"(0,1)": "(0,1)", "x(0,1)": "(0,1)", "(0,1)x": "(0,1)", " ( 1 ,2)": "", "( 1,2)": "(1,2)", "(1, 2)": "(1,2)", "(-1,0)": "(4294967295,0)",
		"(-2147483649,0)": "", "(4294967296,0)": "", "(4294967295,65535)": "(4294967295,65535)", "(1,65536)": "", "(1,-1)": "", "(1": "",
		"(1,2": "", "(,)": "(0,0)", "()": "", "1,2": "", "1,2)": "", "(+1,2)": "(1,2)", "'(0,4)'": "(0,4)", "(0,1))": "(0,1)", "((0,1)": "",
		"(,1)": "(0,1)", "(1,)": "(1,0)", "a,(1,2)": "", "(99999999999999999999,1)": "",
	} {
		d, err := ParseText(TID, in, nil)
		got := ""
		if err == nil {
			got = TextOf(TID, d, nil)
		}
		if got != want {
			t.Errorf("%q is read as %q, not %q", in, got, want)
		}
	}
}

// TestTIDAt: addresses have the order of rows, and none has the offset 0.
func TestTIDAt(t *testing.T) {
	last := int64(-1)
	for _, n := range []uint64{0, 1, tidRows - 1, tidRows, tidRows + 1, 2*tidRows - 1, 2 * tidRows, 1 << 40, 1<<46 + 5} {
		at := TIDAt(n)
		if at <= last || at&0xffff == 0 || at&0xffff > 0x7fff || uint64(at>>16)*tidRows+uint64(at&0xffff)-1 != n {
			t.Errorf("row %d is at %s", n, TextOf(TID, at, nil))
		}
		last = at
	}
}
