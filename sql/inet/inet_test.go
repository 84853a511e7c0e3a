package inet

import (
	"bytes"
	"cmp"
	"math/rand"
	"testing"
)

// TestOrderIsThatOfBytes compares the order of values with PostgreSQL's rule: the family, the bits that both masks
// cover, the masks, the whole addresses.
func TestOrderIsThatOfBytes(t *testing.T) {
	rule := func(a, b addr) int {
		if c := cmp.Compare(len(a.ip), len(b.ip)); c != 0 {
			return c
		}
		for n := range min(a.bits, b.bits) {
			if c := cmp.Compare(a.ip[n/8]>>(7-n%8)&1, b.ip[n/8]>>(7-n%8)&1); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(a.bits, b.bits); c != 0 {
			return c
		}
		return bytes.Compare(a.ip, b.ip)
	}
	r := rand.New(rand.NewSource(1))
	random := func() addr {
		a := addr{ip: make([]byte, []int{4, 16}[r.Intn(2)])}
		for i := range a.ip { // few values, so that prefixes are often equal
			a.ip[i] = []byte{0, 0, 0x80, 0xff}[r.Intn(4)]
		}
		a.bits = r.Intn(a.maxBits() + 1)
		return a
	}
	for range 100000 {
		a, b := random(), random()
		if got, want := bytes.Compare(a.value(), b.value()), rule(a, b); got != want {
			t.Fatalf("%s and %s compare as %d, by the rule as %d", Append(nil, a.value(), false), Append(nil, b.value(), false), got, want)
		}
	}
}

// FuzzParse: what is read is written so that it is read as the same value again, in text and in binary.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"10.1.2.3/8", "10", "0x0a1", "::1", "::1.2.3", "1:2:3:4:5:6:7:8/127", "::ffff:1.2.3.4/96", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, cidr := range []bool{false, true} {
			v, err := Parse(s, cidr)
			if err != nil {
				continue
			}
			text := string(Append(nil, v, cidr))
			if again, err := Parse(text, cidr); err != nil || !bytes.Equal(v, again) {
				t.Fatalf("%q is %x, and its text %q is %x, %v", s, v, text, again, err)
			}
			if again, err := Receive(Send(nil, v, cidr), "inet", cidr); err != nil || !bytes.Equal(v, again) {
				t.Fatalf("%q is %x, and through the binary form %x, %v", s, v, again, err)
			}
			AppendAbbrev(nil, v)
			AppendHost(nil, v)
		}
	})
}
