package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/types"
)

// SeenFrom returns s, a state of the past, as it may be read now: what it defines and its rows are those of then; the roles, the
// owners, the privileges, the settings, the secrets, and the nodes that have the files are those of now. An object that is gone since belongs
// to its owner of then, alone. What was of a session is left out. Its Definitions are its own, so the result is to be kept as
// long as the Sight of now is the same.
func SeenFrom(s, now *State) *State {
	n := *s
	n.roles, n.nodes, n.removed, n.cluster = now.roles, now.nodes, now.removed, now.cluster
	n.settings, n.database, n.defaults = now.settings, now.database, now.defaults
	n.jobs, n.schedules, n.graves, n.unique = now.jobs, now.schedules, nil, nil
	n.secrets, n.finality = now.secrets, now.finality
	n.definitions = new(Definitions)

	n.schemas = asOwned(s.schemas, now.schemas, ClassSchema, func(x *Schema) (*types.OID, *[]Grant) { return &x.Owner, &x.ACL })
	maps.DeleteFunc(n.schemas, func(_ types.OID, x *Schema) bool { return strings.HasPrefix(x.Name, TempSchemas) })
	n.names, n.relations = map[QName]types.OID{}, map[types.OID]*Relation{}
	for oid, r := range s.relations {
		if n.schemas[r.Schema] == nil {
			continue
		}
		n.names[QName{r.Schema, r.Name}] = oid
		n.relations[oid] = r.seenFrom(now)
	}
	n.models = asOwned(s.models, now.models, ClassModel, func(x *Model) (*types.OID, *[]Grant) { return &x.Owner, &x.ACL })
	n.functions = asOwned(s.functions, now.functions, ClassFunction, func(x *Function) (*types.OID, *[]Grant) { return &x.Owner, &x.ACL })
	where(&n, now)
	return &n
}

// AsItWas is seen, which SeenFrom made of s, with the relations' owners and privileges of then: for tables that come back.
func AsItWas(seen, s *State) *State {
	n := *seen
	n.relations, n.definitions = s.relations, new(Definitions)
	return &n
}

// Sight is what SeenFrom takes from the state of now: while it is the same, so is what is seen.
type Sight struct {
	definitions    *Definitions
	moved, removed uint64
}

// SightOf returns that of a state.
func SightOf(s *State) Sight { return Sight{s.definitions, s.moved, s.removedAt} }

// asOwned copies objects of the past with the owners and the privileges that they have now; those that are gone belong to their
// owners of then, alone. of returns where an object has both.
func asOwned[T any](then, now map[types.OID]*T, class Class, of func(*T) (*types.OID, *[]Grant)) map[types.OID]*T {
	out := make(map[types.OID]*T, len(then))
	for oid, x := range then {
		c := *x
		owner, acl := of(&c)
		if o := now[oid]; o != nil {
			nowOwner, nowACL := of(o)
			*owner, *acl = *nowOwner, *nowACL
		} else {
			*acl = onlyOwner(class, *owner)
		}
		out[oid] = &c
	}
	return out
}

func onlyOwner(c Class, owner types.OID) []Grant {
	return []Grant{{Role: owner, Grantor: owner, Privs: c.Privileges()}}
}

func (r *Relation) seenFrom(now *State) *Relation {
	c := r.Clone()
	o := now.relations[r.OID]
	if o == nil {
		c.ACL = onlyOwner(c.Object().Class, c.Owner)
	} else {
		c.Owner, c.ACL = o.Owner, o.ACL
	}
	for i := range c.Columns {
		col := &c.Columns[i]
		col.ACL = nil
		if o != nil {
			if at := slices.IndexFunc(o.Columns, func(x Column) bool { return x.Num == col.Num }); at >= 0 {
				col.ACL = o.Columns[at].ACL
			}
		}
	}
	return c
}

// where sets which nodes have the files of a state of the past now, and notes the tables of which some have been removed.
func where(s, now *State) {
	at := map[SegmentID][]uint64{}
	for f := range FilesOf(now) {
		at[f.ID] = f.Nodes
	}
	for _, g := range now.graves {
		if g.File != nil {
			at[g.File.ID] = g.File.Nodes
		}
	}
	s.lost = map[types.OID]bool{}
	manifests := make(map[types.OID]*Manifest, len(s.manifests))
	for oid, old := range s.manifests {
		if s.relations[oid] == nil {
			continue
		}
		m := *old
		m.Partitions, m.tails = make([][]*Segment, len(old.Partitions)), make([]*tail, len(old.Partitions))
		for p, segs := range old.Partitions {
			list := slices.Clone(segs)
			for i, g := range segs {
				if g.Inline != nil {
					continue
				}
				nodes, there := at[g.ID]
				if !there {
					s.lost[oid] = true
				}
				if !slices.Equal(nodes, g.Nodes) {
					c := *g
					c.Nodes = nodes
					list[i] = &c
				}
			}
			m.Partitions[p] = list
		}
		manifests[oid] = &m
	}
	s.manifests = manifests
	for oid, m := range s.models {
		m.Versions = slices.Clone(m.Versions)
		for i := range m.Versions {
			if v := &m.Versions[i]; !v.File.IsZero() {
				nodes, there := at[v.File]
				v.FileNodes = nodes
				if !there {
					s.lost[oid] = true
				}
			}
		}
	}
}

// Lost reports whether a state of the past cannot be read of a table or a model: files of it are kept no longer.
func (s *kept) Lost(oid types.OID) bool { return s.lost[oid] }

// PastOID begins the OIDs of relations of the past among those of a statement.
const PastOID types.OID = 0x3f000000

// PastOf lists the tables of the past that a state has beside its own, in the order in which WithPast added them.
func PastOf(s *State) (out []*Relation) {
	for oid := PastOID; s.relations[oid] != nil; oid++ {
		out = append(out, s.relations[oid])
	}
	return out
}

// WithPast returns s with a table of the past beside its own, and the table as it is there: under an OID of its own, and a name
// that no other has. then is as seen from s.
func WithPast(s, then *State, r *Relation) (*State, *Relation) {
	n := *s
	oid := PastOID
	for n.relations[oid] != nil {
		oid++
	}
	c := r.Clone()
	c.OID, c.ReferencedBy = oid, nil
	c.Constraints = slices.DeleteFunc(c.Constraints, func(k Constraint) bool { return k.Kind == 'f' })
	n.relations = maps.Clone(s.relations)
	n.relations[oid] = c
	if m := then.manifests[r.OID]; m != nil {
		mine := *m
		mine.Table = oid
		n.manifests = maps.Clone(s.manifests)
		n.manifests[oid] = &mine
	}
	if st := then.statistics[r.OID]; st != nil {
		n.statistics = maps.Clone(s.statistics)
		if n.statistics == nil {
			n.statistics = map[types.OID]*Statistics{}
		}
		n.statistics[oid] = st
	}
	if then.lost[r.OID] {
		n.lost = maps.Clone(s.lost)
		if n.lost == nil {
			n.lost = map[types.OID]bool{}
		}
		n.lost[oid] = true
	}
	for _, col := range c.Columns {
		e := then.EnumByOID(col.Type.OID)
		if e != nil && n.types[e.OID] == nil {
			n.types = maps.Clone(n.types)
			n.types[e.OID] = e
		}
	}
	n.definitions = new(Definitions)
	return &n, c
}
