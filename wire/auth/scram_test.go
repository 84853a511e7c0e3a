package auth_test

import (
	"strings"
	"testing"

	"github.com/xdg-go/scram"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/auth"
)

// prove runs a SCRAM exchange with a client that uses this password, and returns whether both sides
// accept it.
func prove(t *testing.T, verifier, password string) bool {
	t.Helper()
	c, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		t.Fatal(err)
	}
	conv := c.NewConversation()
	ex, err := auth.NewExchange("ann", verifier, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	for !conv.Done() {
		msg, err := conv.Step(answer)
		if err != nil {
			return false
		}
		if ex.Done() {
			break
		}
		if answer, err = ex.Step(msg); err != nil {
			return false
		}
	}
	return ex.Done() && ex.Valid() && conv.Valid()
}

func TestExchange(t *testing.T) {
	for _, tc := range []struct {
		set, given string
		ok         bool
	}{
		{"secret", "secret", true},
		{"secret", "Secret", false},
		{"secret", "", false},
		{"IX", "\u2168", true},   // SASLprep: RFC 4013, section 3
		{"I\u00adX", "IX", true}, // a soft hyphen is mapped to nothing
		{"\u00aa", "a", true},    // compatibility
		{"user\u00a0x", "user x", true},
		{"ü, = and ,", "ü, = and ,", true},
	} {
		v, err := auth.Verifier(tc.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := prove(t, v, tc.given); got != tc.ok {
			t.Errorf("%q for %q: %v", tc.given, tc.set, got)
		}
		if got := auth.Check(v, tc.given); got != tc.ok {
			t.Errorf("Check %q for %q: %v", tc.given, tc.set, got)
		}
		again, err := auth.Verifier(v)
		if err != nil || again != v {
			t.Errorf("a verifier became another: %v", err)
		}
	}
	if prove(t, "", "anything") || auth.Check("", "") || auth.Check("x", "x") {
		t.Error("a role without a password was let in")
	}
}

// TestPostgresVerifier: the password "pencil" is accepted by a verifier that PostgreSQL 15 made of it.
func TestPostgresVerifier(t *testing.T) {
	const v = "SCRAM-SHA-256$4096:w8RB0DalSrFlgCrHHnfBeA==$D8dy/szT8b9tdQ9mdxzCjumP+ANIgQmUJfq9w2UVOLk=:IsSOlbu6yh1rUy4AYzkRJXsIsZbrBLxQWuytwxljh/8="
	if !auth.Check(v, "pencil") || !prove(t, v, "pencil") || prove(t, v, "pen") {
		t.Error("PostgreSQL's verifier is read otherwise")
	}
}

func TestVerifierForms(t *testing.T) {
	if _, err := auth.Verifier("md5" + strings.Repeat("0", 32)); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Error(err)
	}
	a, err := auth.Verifier("x")
	if err != nil {
		t.Fatal(err)
	}
	b, err := auth.Verifier("x")
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Error("two verifiers of a password have the same salt")
	}
	for _, bad := range []string{"SCRAM-SHA-256$", "SCRAM-SHA-256$0:AA==$AA==:AA==", "SCRAM-SHA-256$4096:*$AA==:AA==", strings.Replace(a, ":", "", 1)} {
		if auth.Check(bad, "x") || prove(t, bad, "x") {
			t.Errorf("%q lets in", bad)
		}
	}
}
