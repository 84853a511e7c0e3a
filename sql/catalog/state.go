package catalog

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/sql/types"
)

// State is one version of the catalog. It never changes once it is made; the
// maps are private so that only Apply (change.go) copies them.
type State struct {
	version   uint64 // Raft index of the last change; own changes of a transaction do not move it
	nextOID   types.OID
	schemas   map[types.OID]*Schema
	relations map[types.OID]*Relation
	names     map[QName]types.OID // relations and enum types do not share it
	types     map[types.OID]*EnumType
	typeNames map[QName]types.OID
	roles     map[types.OID]*Role
	models    map[types.OID]*Model
	modelName map[QName]types.OID
	jobs      map[types.OID]*Job
	nodes     map[uint64]*Node
	cluster   ClusterID
	removed   map[uint64]bool // nodes that were members
	manifests map[types.OID]*Manifest
	sequences map[types.OID]SeqValue
	settings  map[string]string
	comments  map[Dep]string
	database  Database
	defaults  map[DefaultKey][]Grant
	unique    map[types.OID]*keyLog // by constraint
	// statistics are by table.
	statistics map[types.OID]*Statistics
	functionSet
	schedules map[types.OID]*Schedule
	finality

	kept
	secrets map[types.OID]*Secret
	groups  map[types.OID]*ResourceGroup

	definitions *Definitions
}

// QName is a name within a schema.
type QName struct {
	Schema types.OID
	Name   string
}

// Version returns the version of the committed state that this is, or is based on.
func (s *State) Version() uint64 { return s.version }

// NextOID returns the first OID that was never allocated.
func (s *State) NextOID() types.OID { return s.nextOID }

// SchemaByName finds a schema; nil if there is none.
func (s *State) SchemaByName(name string) *Schema {
	for _, x := range s.schemas {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// Schema finds a schema by OID; nil if there is none.
func (s *State) Schema(oid types.OID) *Schema { return s.schemas[oid] }

// Schemas lists all, by OID.
func (s *State) Schemas() []*Schema { return sorted(s.schemas) }

// Relation finds a table, view, sequence or index; nil if there is none.
func (s *State) Relation(schema types.OID, name string) *Relation {
	if oid, ok := s.names[QName{schema, name}]; ok {
		return s.relations[oid]
	}
	return nil
}

// RelationByOID finds a relation; nil if there is none.
func (s *State) RelationByOID(oid types.OID) *Relation { return s.relations[oid] }

// Relations lists all, by OID.
func (s *State) Relations() []*Relation { return sorted(s.relations) }

// Manifest returns a table's segments; nil for relations without any.
func (s *State) Manifest(table types.OID) *Manifest { return s.manifests[table] }

// SequenceAt returns a sequence's position.
func (s *State) SequenceAt(oid types.OID) SeqValue { return s.sequences[oid] }

// Enum finds a user's type by name; nil if there is none.
func (s *State) Enum(schema types.OID, name string) *EnumType {
	if oid, ok := s.typeNames[QName{schema, name}]; ok {
		return s.types[oid]
	}
	return nil
}

// EnumByOID finds a user's type by its OID or its array's; nil if there is none.
func (s *State) EnumByOID(oid types.OID) *EnumType {
	if t := s.types[oid]; t != nil {
		return t
	}
	if oid >= types.UserArrayBit {
		return s.types[oid&^types.UserArrayBit]
	}
	return nil
}

// TypeName returns the SQL name of a type with its modifier, for an enum or an array of one without
// its schema.
func (s *State) TypeName(t types.Type) string {
	e := s.EnumByOID(t.OID)
	switch {
	case e == nil:
		return t.String()
	case e.ArrayOID == t.OID:
		return e.Name + "[]"
	}
	return e.Name
}

// Enums lists all, by OID.
func (s *State) Enums() []*EnumType { return sorted(s.types) }

// Role finds a role by OID; nil if there is none.
func (s *State) Role(oid types.OID) *Role { return s.roles[oid] }

// RoleByName finds a role; nil if there is none.
func (s *State) RoleByName(name string) *Role {
	for _, r := range s.roles {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Roles lists all, by OID.
func (s *State) Roles() []*Role { return sorted(s.roles) }

// Model finds a model by name; nil if there is none.
func (s *State) Model(schema types.OID, name string) *Model {
	if oid, ok := s.modelName[QName{schema, name}]; ok {
		return s.models[oid]
	}
	return nil
}

// ModelByOID finds a model; nil if there is none.
func (s *State) ModelByOID(oid types.OID) *Model { return s.models[oid] }

// Models lists all, by OID.
func (s *State) Models() []*Model { return sorted(s.models) }

// Job finds a training job; nil if there is none.
func (s *State) Job(oid types.OID) *Job { return s.jobs[oid] }

// Jobs lists all, by OID.
func (s *State) Jobs() []*Job { return sorted(s.jobs) }

// Node finds a member; nil if there is none.
func (s *State) Node(id uint64) *Node { return s.nodes[id] }

// Cluster returns the cluster's id; zero until its first leader has set it.
func (s *State) Cluster() ClusterID { return s.cluster }

// Removed reports whether a node was a member and was removed: it cannot rejoin under the same id.
func (s *State) Removed(id uint64) bool { return s.removed[id] }

// Nodes lists the members, by id.
func (s *State) Nodes() []*Node { return sorted(s.nodes) }

// Setting returns a cluster setting.
func (s *State) Setting(name string) (string, bool) {
	v, ok := s.settings[name]
	return v, ok
}

// Settings lists the cluster settings, by name.
func (s *State) Settings() []NamedText {
	out := make([]NamedText, 0, len(s.settings))
	for k, v := range s.settings {
		out = append(out, NamedText{k, v})
	}
	slices.SortFunc(out, func(a, b NamedText) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Comment returns the comment on an object or, with Column, on a column.
func (s *State) Comment(d Dep) string { return s.comments[d] }

func sorted[K cmp.Ordered, V any](m map[K]V) []V {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]V, len(keys))
	for i, k := range keys {
		out[i] = m[k]
	}
	return out
}
