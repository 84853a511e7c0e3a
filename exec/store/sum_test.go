package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestHashOfFile: the hash of a file written in blocks is that of its bytes, and the library's XXH3
// is XXH3.
func TestHashOfFile(t *testing.T) {
	empty := xxh3.Hash128(nil).Bytes()
	if got := hex.EncodeToString(empty[:]); got != "99aa06d3014798d86001c324468d497f" {
		t.Errorf("XXH3 of nothing is %s", got)
	}
	d := newDamaged(t)
	if d.seg.XXH128 != xxh3.Hash128(d.good).Bytes() || d.seg.SHA256 != [32]byte{} {
		t.Errorf("a file of %d bytes has the hash %x", len(d.good), d.seg.XXH128)
	}
}

// TestHashFindsBit: for catalog entries with the hash of older versions (SHA-256) and of this one
// (XXH3), a good file is accepted and one with any single bit changed is refused.
func TestHashFindsBit(t *testing.T) {
	before := func(d *damaged) *catalog.Segment {
		ref := *d.seg
		ref.XXH128, ref.SHA256 = [16]byte{}, sha256.Sum256(d.good)
		return &ref
	}
	for name, entry := range map[string]func(*damaged) *catalog.Segment{
		"XXH128": func(d *damaged) *catalog.Segment { return d.seg },
		"SHA256": before,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDamaged(t)
			ref := entry(d)
			check := func(b []byte, good bool) {
				t.Helper()
				if err := os.WriteFile(d.path(), b, 0o644); err != nil {
					t.Fatal(err)
				}
				in, err := d.Receive(ref)
				if err != nil {
					t.Fatal(err)
				}
				scrubbed := d.Scrub(ctx, ref, func(context.Context, int) error { return nil })
				verified := d.Verify(ctx, ref)
				if _, err := in.Write(b); err != nil {
					t.Fatal(err)
				}
				for what, err := range map[string]error{"scrubbed": scrubbed, "verified": verified, "taken in": in.Commit()} {
					var bad *store.CorruptError
					if good && err != nil || !good && !errors.As(err, &bad) {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			check(d.good, true)
			for at := 0; at < len(d.good); at += 1 + len(d.good)/97 {
				b := append([]byte{}, d.good...)
				b[at] ^= 1 << (at % 8)
				check(b, false)
			}
			check(d.good[:len(d.good)-1], false)
			check(d.good, true)
		})
	}
}
