package object_test

import (
	"bytes"
	"testing"

	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// What is sealed opens with the key of the cluster alone, and only for where it was to be sent.
func TestKeys(t *testing.T) {
	keys, err := object.NewKeys(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	others, err := object.NewKeys(bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	x := catalog.Secret{OID: 7, Type: "s3", KeyID: "k", Endpoint: "a:1", Scope: "s3://bkt"}
	was := object.Sealed{Secret: "hunter2", Token: "t"}
	if err := keys.Seal(&x, was); err != nil {
		t.Fatal(err)
	}
	if got, err := keys.Open(&x); err != nil || got != was || bytes.Contains(x.Sealed, []byte("hunter2")) {
		t.Errorf("opened: %v, %v", got, err)
	}
	y, z := x, x
	y.Endpoint, z.Scope = "evil:1", ""
	for _, c := range []struct {
		keys object.Keys
		x    catalog.Secret
	}{{others, x}, {keys, y}, {keys, z}, {object.Keys{}, x}, {keys, catalog.Secret{}}} {
		if got, err := c.keys.Open(&c.x); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) || got != (object.Sealed{}) {
			t.Errorf("%+v opened: %v, %v", c.x, got, err)
		}
	}
}

// A scope ends where a part of a URI does.
func TestScopes(t *testing.T) {
	for _, c := range []struct {
		scope, uri string
		want       bool
	}{
		{"", "s3://a/b", true}, {"s3://", "s3://a/b", true}, {"s3://a", "s3://a/b", true}, {"s3://a", "s3://ab/c", false}, {"s3://a/p", "s3://a/p", true},
		{"s3://a/p", "s3://a/p/x", true}, {"s3://a/p", "s3://a/p*/x", false}, {"s3://a/p/", "s3://a/p*", false}, {"s3://a/p/", "s3://a/p/*", true},
	} {
		if got := (&catalog.Secret{Scope: c.scope}).Covers(c.uri); got != c.want {
			t.Errorf("%q covers %q: %v", c.scope, c.uri, got)
		}
	}
}
