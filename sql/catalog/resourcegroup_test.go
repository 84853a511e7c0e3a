package catalog

import (
	"testing"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestResourceGroups: groups and the roles in them are in the catalog's image; a group with roles stays, and what the version
// before does not know is found.
func TestResourceGroups(t *testing.T) {
	try := func(s *State, cs ...Change) (*State, error) { return s.Apply(cs) }
	s, err := try(New(), &PutResourceGroup{Group: &ResourceGroup{OID: 20001, Name: "g", Concurrency: 4, Queue: -1}}, &PutRole{Role: &Role{OID: 20002, Name: "r", ResourceGroup: 20001}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = UnmarshalState(b); err != nil {
		t.Fatal(err)
	}
	g := ResourceGroupOf(s, 20002)
	if g == nil || *g != *ResourceGroupNamed(s, "g") || g.Concurrency != 4 || g.Version != 1 || len(ResourceGroups(s)) != 1 || ResourceGroupOf(s, BootstrapRoleOID) != nil {
		t.Errorf("%+v", g)
	}
	for _, c := range []struct {
		change Change
		code   pgerr.Code
	}{
		{&DropResourceGroup{OID: 20001}, pgerr.SerializationFailure},
		{&DropResourceGroup{OID: 20003}, pgerr.SerializationFailure},
		{&PutRole{Role: &Role{OID: 20004, Name: "s", ResourceGroup: 20003}}, pgerr.SerializationFailure},
		{&PutResourceGroup{Group: &ResourceGroup{OID: 20005, Name: "g"}}, pgerr.DuplicateObject},
		{&PutResourceGroup{Group: g, ExpectVersion: 7}, pgerr.SerializationFailure},
		{&PutResourceGroup{Group: g}, pgerr.SerializationFailure},
	} {
		if _, err := try(s, c.change); !pgerr.Is(err, c.code) {
			t.Errorf("%#v: %v", c.change, err)
		}
	}
	if _, err := try(s, &PutRole{Role: &Role{OID: 20002, Name: "r"}}, &DropResourceGroup{OID: 20001}); err != nil {
		t.Error(err)
	}
	if codec.Beyond([]Change{&PutRole{Role: &Role{Name: "r"}}}) != "" || codec.Beyond([]Change{&PutRole{Role: &Role{Name: "r", ResourceGroup: 1}}}) == "" || codec.Beyond([]Change{&DropResourceGroup{}}) == "" {
		t.Error("the version before knows of resource groups")
	}
}
