package auth

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Method is an authentication method.
type Method string

// The methods.
const (
	Trust  Method = "trust"
	Reject Method = "reject"
	Scram  Method = "scram-sha-256"
	Cert   Method = "cert"
)

// Rule is a line of pg_hba.conf: for connections of a kind, to a database, as a
// user, from an address, the method.
type Rule struct {
	Type     string // host, hostssl, hostnossl
	Database []string
	User     []string
	Address  string
	Method   Method
	net      netip.Prefix
}

// Rules are applied in order: the first that matches decides, and a connection that matches none is
// refused. Without any rules the server decides.
type Rules []Rule

// Check reads the rules' fields; an error names the rule, from 1.
func (rs Rules) Check() error {
	for i := range rs {
		if err := rs[i].check(); err != nil {
			return fmt.Errorf("hba rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	switch r.Type {
	case "":
		r.Type = "host"
	case "host", "hostssl", "hostnossl":
	default:
		return fmt.Errorf("type %q is not one of host, hostssl and hostnossl", r.Type)
	}
	switch r.Method {
	case Trust, Reject, Scram, Cert:
	default:
		return fmt.Errorf("method %q is not one of trust, reject, scram-sha-256 and cert", r.Method)
	}
	if r.Method == Cert && r.Type != "hostssl" {
		return fmt.Errorf("method cert needs type hostssl")
	}
	if len(r.Database) == 0 || len(r.User) == 0 {
		return fmt.Errorf("a database and a user are needed; all is any")
	}
	switch r.Address {
	case "all":
		return nil
	case "loopback":
		return nil
	}
	p, err := netip.ParsePrefix(r.Address)
	if err != nil {
		a, aerr := netip.ParseAddr(r.Address)
		if aerr != nil {
			return fmt.Errorf("address %q is not all, loopback, an address or a network such as 10.0.0.0/8", r.Address)
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	r.net = p.Masked()
	return nil
}

// Attempt is a connection to be authenticated.
type Attempt struct {
	Database, User string
	Groups         []string // the roles that User is a member of
	Addr           netip.Addr
	TLS            bool
}

// Match returns the method of the first rule that matches.
func (rs Rules) Match(a Attempt) (Method, bool) {
	for i := range rs {
		if rs[i].matches(a) {
			return rs[i].Method, true
		}
	}
	return "", false
}

func (r *Rule) matches(a Attempt) bool {
	if r.Type == "hostssl" && !a.TLS || r.Type == "hostnossl" && a.TLS {
		return false
	}
	addr := a.Addr.Unmap()
	switch r.Address {
	case "all":
	case "loopback":
		if !addr.IsLoopback() {
			return false
		}
	default:
		if !r.net.Contains(addr) {
			return false
		}
	}
	return slices.ContainsFunc(r.Database, func(d string) bool {
		return d == "all" || d == a.Database || d == "sameuser" && a.Database == a.User || d == "samerole" && slices.Contains(a.Groups, a.Database)
	}) && slices.ContainsFunc(r.User, func(u string) bool {
		group, member := strings.CutPrefix(u, "+")
		return u == "all" || u == a.User || member && (group == a.User || slices.Contains(a.Groups, group))
	})
}
