package feature

import (
	"testing"

	"github.com/tributarydb/tributary/sql/types"
)

// TestKeyTexts: keys are shown as their values are, integers of any size with all their digits.
func TestKeyTexts(t *testing.T) {
	for _, c := range []struct {
		t         types.Type
		key, want string
	}{
		{types.Int4, string(le.AppendUint32(nil, 12345678)), "12345678"},
		{types.Int4, string(le.AppendUint32(nil, 1<<32-3)), "-3"},
		{types.Int2, string(le.AppendUint16(nil, 1<<16-2)), "-2"},
		{types.Int8, IntegerKey(1234567890123456789), "1234567890123456789"},
		{types.UUID, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff", "00010203-0405-0607-0809-0a0b0c0d0eff"},
		{types.Text, "x", "x"},
	} {
		if got := KeyText(c.t, c.key); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
