package catalog

import "testing"

// TestSeenFrom: what is read of the past is read with the secrets, the owners and the privileges of now.
func TestSeenFrom(t *testing.T) {
	commit := func(s *State, c ...Change) *State {
		t.Helper()
		n, _, err := s.Commit(s.Version()+1, c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	then := commit(New(), &PutSecret{Secret: &Secret{OID: 20000, Name: "k", Owner: BootstrapRoleOID}},
		&PutSchema{Schema: &Schema{OID: 20001, Name: "kept", Owner: BootstrapRoleOID}},
		&PutSchema{Schema: &Schema{OID: 20002, Name: "gone", Owner: BootstrapRoleOID, ACL: []Grant{{Role: 0, Grantor: BootstrapRoleOID, Privs: "U"}}}})
	granted := []Grant{{Role: 0, Grantor: BootstrapRoleOID, Privs: "U"}}
	now := commit(then, &DropSecret{OID: 20000}, &DropSchema{OID: 20002},
		&PutSchema{Schema: &Schema{OID: 20001, Name: "renamed", Owner: BootstrapRoleOID, ACL: granted}})
	seen := SeenFrom(then, now)
	if SecretNamed(seen, "k") != nil {
		t.Error("a secret that was dropped can be used by reading the past")
	}
	if x := seen.Schema(20001); x.Name != "kept" || len(x.ACL) != 1 {
		t.Errorf("%+v", x)
	}
	if x := seen.Schema(20002); x == nil || len(x.ACL) != 1 || x.ACL[0].Role != BootstrapRoleOID {
		t.Errorf("what is gone is not its owner's alone: %+v", x)
	}
	if seen.Finalized() != now.Finalized() {
		t.Error(seen.Finalized())
	}
}

// TestGravesNeedTimes: a cluster whose commits have no times yet, as it is not finalised, keeps no file of the past.
func TestGravesNeedTimes(t *testing.T) {
	for _, at := range []int64{0, 1_700_000_000_000_000} {
		commit := func(s *State, c ...Change) *State {
			t.Helper()
			n, _, err := CommitAt(s, s.Version()+1, at, c)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		s := commit(New(), &PutRelation{Rel: &Relation{OID: 20000, Schema: PublicOID, Name: "t", Kind: KindTable, Partitions: 1, Owner: BootstrapRoleOID}})
		s = commit(s, &AppendSegments{Table: 20000, Segments: []*Segment{{ID: SegmentID{1}, Rows: 1, Bytes: 1, Nodes: []uint64{1}}}, ExpectVersion: s.RelationByOID(20000).Version})
		s = commit(s, &Truncate{Table: 20000})
		if got, want := len(s.Graves()) > 0, at != 0; got != want {
			t.Errorf("at %d: %d graves", at, len(s.Graves()))
		}
	}
}
