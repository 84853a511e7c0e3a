package catalog

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// letters is the order in which privileges are written.
const letters = "arwdDxtXUCTc"

// privSet is a set of privileges, some of them with the grant option.
type privSet struct{ have, option uint32 }

func privsOf(text string) (p privSet) {
	for i := range len(text) {
		if text[i] == '*' {
			continue
		}
		bit := letterBits(text[i : i+1])
		p.have |= bit
		if i+1 < len(text) && text[i+1] == '*' {
			p.option |= bit
		}
	}
	return p
}

func letterBits(text string) (bits uint32) {
	for i := range len(letters) {
		for k := range len(text) {
			if text[k] == letters[i] {
				bits |= 1 << i
			}
		}
	}
	return bits
}

// String writes a set as aclitem does.
func (p privSet) String() string {
	var b []byte
	for i := range len(letters) {
		if p.have&(1<<i) != 0 {
			b = append(b, letters[i])
			if p.option&(1<<i) != 0 {
				b = append(b, '*')
			}
		}
	}
	return string(b)
}

// grants is an object's list of grants while it is changed.
type grants struct {
	owner types.OID
	bare  bool
	list  []Grant
}

func (o Object) grants() *grants { return &grants{o.Owner, o.Bare, slices.Clone(o.Grants())} }

// BestGrantor chooses the grantor for a role: the owner, where the role may act for it, else the
// one of its roles that holds the most of the grant options. can are the letters it may grant.
func (s *State) BestGrantor(role types.OID, o Object, privs string) (grantor types.OID, can string) {
	if s.Inherits(role, o.Owner) {
		return o.Owner, privs
	}
	want := letterBits(privs)
	g := o.grants()
	grantor = role
	var best uint32
	for _, r := range s.inherited(role) {
		has := g.options(r) & want
		if has == want {
			return r, privs
		}
		if count(has) > count(best) {
			grantor, best = r, has
		}
	}
	return grantor, privSet{have: best}.String()
}

// inherited returns a role and those whose privileges it has.
func (s *State) inherited(role types.OID) []types.OID {
	out := []types.OID{role}
	for i := 0; i < len(out); i++ {
		if r := s.roles[out[i]]; r != nil && r.Inherit {
			for _, m := range r.MemberOf {
				if !slices.Contains(out, m.Role) {
					out = append(out, m.Role)
				}
			}
		}
	}
	return out
}

func count(bits uint32) (n int) {
	for ; bits != 0; bits &= bits - 1 {
		n++
	}
	return n
}

// Grant returns the grants after roles to are granted privileges by grantor; role 0 is PUBLIC.
func (o Object) Grant(grantor types.OID, to []types.OID, privs string, option bool) ([]Grant, error) {
	g := o.grants()
	for _, role := range to {
		add := privSet{have: letterBits(privs)}
		if option {
			if role == 0 {
				return nil, pgerr.New(pgerr.InvalidGrantOperation, "grant options can only be granted to roles")
			}
			add.option = add.have
			if err := g.circular(role, grantor, add.option); err != nil {
				return nil, err
			}
		}
		i := g.find(role, grantor)
		p := privsOf(g.list[i].Privs)
		g.list[i].Privs = privSet{p.have | add.have, p.option | add.option}.String()
	}
	return g.done(), nil
}

// Revoke revokes privileges that grantor granted to roles, or with optionOnly their grant options.
// Grants by those roles that depend on them are revoked with cascade, and are an error without.
func (o Object) Revoke(grantor types.OID, from []types.OID, privs string, optionOnly, cascade bool) ([]Grant, error) {
	g := o.grants()
	for _, role := range from {
		take := privSet{option: letterBits(privs)}
		if !optionOnly {
			take.have = take.option
		}
		if err := g.take(role, grantor, take, cascade); err != nil {
			return nil, err
		}
	}
	return g.done(), nil
}

// find returns the index of grantor's grant to role, which is made where there is none.
func (g *grants) find(role, grantor types.OID) int {
	i := slices.IndexFunc(g.list, func(x Grant) bool { return x.Role == role && x.Grantor == grantor })
	if i < 0 {
		g.list = append(g.list, Grant{Role: role, Grantor: grantor})
		i = len(g.list) - 1
	}
	return i
}

// options returns the privileges that a role itself may grant.
func (g *grants) options(role types.OID) (bits uint32) {
	if role == g.owner {
		return ^uint32(0)
	}
	for _, x := range g.list {
		if x.Role == role {
			bits |= privsOf(x.Privs).option
		}
	}
	return bits
}

func (g *grants) take(role, grantor types.OID, p privSet, cascade bool) error {
	i := g.find(role, grantor)
	was := privsOf(g.list[i].Privs)
	now := privSet{was.have &^ p.have, was.option &^ p.option}
	g.list[i].Privs = now.String()
	lost := was.option &^ now.option &^ g.options(role)
	for again := lost != 0; again; {
		again = false
		for _, x := range g.list {
			gone := privsOf(x.Privs).have & lost
			if x.Grantor != role || gone == 0 {
				continue
			}
			if !cascade {
				return pgerr.New(pgerr.DependentObjectsStillExist, "dependent privileges exist").WithHint("Use CASCADE to revoke them too.")
			}
			if err := g.take(x.Role, x.Grantor, privSet{gone, gone}, true); err != nil {
				return err
			}
			again = true // the list may be another
			break
		}
	}
	return nil
}

// circular refuses grant options that would be their own source: without those
// of the grantee, the grantor must still have its own.
func (g *grants) circular(role, grantor types.OID, option uint32) error {
	if grantor == g.owner {
		return nil
	}
	without := grants{g.owner, g.bare, slices.Clone(g.list)}
	for again := true; again; {
		again = false
		for _, x := range without.list {
			if p := privsOf(x.Privs); x.Role == role && p.option != 0 {
				if err := without.take(role, x.Grantor, privSet{option: p.option}, true); err != nil {
					return err
				}
				again = true
				break
			}
		}
	}
	if option&^without.options(grantor) != 0 {
		return pgerr.New(pgerr.InvalidGrantOperation, "grant options cannot be granted back to your own grantor")
	}
	return nil
}

// done returns the list without empty grants. An owner that has lost all privileges keeps an empty
// grant: without any it would have all by default.
func (g *grants) done() []Grant {
	out := slices.DeleteFunc(g.list, func(x Grant) bool { return x.Privs == "" })
	if !g.bare && !slices.ContainsFunc(out, func(x Grant) bool { return x.Role == g.owner }) {
		out = append(out, Grant{Role: g.owner, Grantor: g.owner})
	}
	return out
}

// Reown returns the grants of an object whose owner changes: the new owner takes
// the old one's place, as grantee and as grantor.
func (o Object) Reown(to types.OID) []Grant {
	if len(o.ACL) == 0 || o.Owner == to {
		return o.ACL
	}
	g := &grants{owner: to, bare: o.Bare}
	swap := func(r types.OID) types.OID {
		if r == o.Owner {
			return to
		}
		return r
	}
	for _, x := range o.Grants() {
		g.add(Grant{Role: swap(x.Role), Grantor: swap(x.Grantor), Privs: x.Privs})
	}
	return g.done()
}

// merge adds grants to those of an object.
func (o Object) merge(more []Grant) []Grant {
	g := o.grants()
	for _, x := range more {
		g.add(x)
	}
	return g.done()
}

func (g *grants) add(x Grant) {
	i := g.find(x.Role, x.Grantor)
	p, q := privsOf(g.list[i].Privs), privsOf(x.Privs)
	g.list[i].Privs = privSet{p.have | q.have, p.option | q.option}.String()
}

// Admins reports whether a role may make others members of a role.
func (s *State) Admins(role, of types.OID) bool {
	if s.Super(role) {
		return true
	}
	seen := []types.OID{role}
	for i := 0; i < len(seen); i++ {
		r := s.roles[seen[i]]
		if r == nil {
			continue
		}
		for _, m := range r.MemberOf {
			if m.Role == of && m.Admin {
				return true
			}
			if !slices.Contains(seen, m.Role) {
				seen = append(seen, m.Role)
			}
		}
	}
	return false
}
