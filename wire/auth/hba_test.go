package auth

import (
	"net/netip"
	"testing"
)

func TestRules(t *testing.T) {
	rules := Rules{
		{Type: "host", Database: []string{"all"}, User: []string{"root"}, Address: "loopback", Method: Trust},
		{Type: "host", Database: []string{"all"}, User: []string{"root"}, Address: "all", Method: Reject},
		{Type: "hostssl", Database: []string{"sales", "ops"}, User: []string{"+staff"}, Address: "10.0.0.0/8", Method: Cert},
		{Type: "hostnossl", Database: []string{"sameuser"}, User: []string{"all"}, Address: "10.1.2.3", Method: Scram},
		{Database: []string{"all"}, User: []string{"ann", "ben"}, Address: "fd00::/8", Method: Scram},
	}
	if err := rules.Check(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		db, user, addr string
		tls            bool
		groups         []string
		want           Method
	}{
		{"x", "root", "127.0.0.1", false, nil, Trust},
		{"x", "root", "::1", false, nil, Trust},
		{"x", "root", "::ffff:127.0.0.1", false, nil, Trust},
		{"x", "root", "10.0.0.1", true, nil, Reject},
		{"sales", "ann", "10.9.9.9", true, []string{"staff"}, Cert},
		{"sales", "staff", "10.9.9.9", true, nil, Cert},
		{"sales", "ann", "10.9.9.9", true, nil, ""},
		{"sales", "ann", "10.9.9.9", false, []string{"staff"}, ""},
		{"other", "ann", "10.9.9.9", true, []string{"staff"}, ""},
		{"ann", "ann", "10.1.2.3", false, nil, Scram},
		{"ann", "ann", "10.1.2.3", true, nil, ""},
		{"ann", "ann", "10.1.2.4", false, nil, ""},
		{"x", "ben", "fd12::1", false, nil, Scram},
		{"x", "eve", "fd12::1", false, nil, ""},
		{"x", "ann", "127.0.0.1", false, nil, ""},
	} {
		got, ok := rules.Match(Attempt{Database: tc.db, User: tc.user, Addr: netip.MustParseAddr(tc.addr), TLS: tc.tls, Groups: tc.groups})
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("%+v: %q %v", tc, got, ok)
		}
	}
	good := Rule{Database: []string{"all"}, User: []string{"all"}, Address: "all", Method: Trust}
	for _, bad := range []func(*Rule){
		func(r *Rule) { r.Type = "local" }, func(r *Rule) { r.Method = "md5" }, func(r *Rule) { r.Method = "" }, func(r *Rule) { r.Address = "" },
		func(r *Rule) { r.Address = "10.0.0.0/33" }, func(r *Rule) { r.Address = "example.com" }, func(r *Rule) { r.Database = nil }, func(r *Rule) { r.User = nil },
		func(r *Rule) { r.Method = Cert },
	} {
		r := good
		bad(&r)
		if err := (Rules{good, r}).Check(); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}
