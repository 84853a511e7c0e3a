package catalog

import (
	"maps"
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Apply returns the state after changes, or an error. s is not changed. The version does not move:
// this is a transaction's view of its own changes.
func (s *State) Apply(changes []Change) (*State, error) {
	next, _, err := s.apply(s.version, s.at, changes, false)
	return next, err
}

// Commit applies changes and returns the state with this version, which must be greater than that of s. It is
// the step of the replicated state machine.
func (s *State) Commit(version uint64, changes []Change) (*State, Outcome, error) {
	return CommitAt(s, version, s.at, changes)
}

// CommitAt is Commit with the time of the commit, in Unix µs.
func CommitAt(s *State, version uint64, micros int64, changes []Change) (*State, Outcome, error) {
	if version <= s.version {
		return nil, Outcome{}, pgerr.Internal("catalog: version %d does not follow %d", version, s.version)
	}
	return s.apply(version, max(micros, s.at), changes, true)
}

func (s *State) apply(version uint64, at int64, changes []Change, commit bool) (*State, Outcome, error) {
	next := *s // not part of e, which would keep its base, and so all states there ever were
	next.version, next.at = version, at
	e := &edit{s: &next, base: s, version: version, commit: commit}
	for _, c := range changes {
		if c == nil {
			return nil, Outcome{}, pgerr.Internal("catalog: a change is nil")
		}
		if err := c.apply(e); err != nil {
			return nil, Outcome{}, err
		}
	}
	if err := e.finish(); err != nil {
		return nil, Outcome{}, err
	}
	redefined := slices.ContainsFunc(changes, defines)
	if redefined {
		next.definitions = new(Definitions)
	}
	e.keepGraves(redefined || next.archive != s.archive)
	return &next, e.out, nil
}

// edit is a new state while it is built. It shares its maps with base until writable copies them.
type edit struct {
	s       *State
	base    *State
	version uint64
	commit  bool
	copied  uint32
	out     Outcome

	put            []*Relation // whose dependencies finish checks
	putFunctions   []*Function // the same
	dropped        []types.OID
	droppedSchemas []*Schema
	manifests      map[types.OID]*manifestEdit
	keys           []*UniqueKeys
	buried         []*Grave
	ownGraves      bool // the list is this edit's alone
}

// The maps of State, as bits of edit.copied.
const (
	mapSchemas = 1 << iota
	mapRelations
	mapNames
	mapTypes
	mapTypeNames
	mapRoles
	mapModels
	mapModelName
	mapJobs
	mapNodes
	mapManifests
	mapSequences
	mapSettings
	mapComments
	mapUnique
	mapRemoved
	mapDefaults
	mapStatistics
	mapFunctions
	mapFunctionNames
	mapSchedules
	mapSecrets
	mapResourceGroups
)

// writable copies a map of the base before its first change.
func writable[K comparable, V any](e *edit, bit uint32, m *map[K]V) map[K]V {
	if e.copied&bit == 0 {
		e.copied |= bit
		if *m == nil {
			*m = map[K]V{}
		} else {
			*m = maps.Clone(*m)
		}
	}
	return *m
}

func (e *edit) noteOID(oid types.OID) {
	if oid >= e.s.nextOID {
		e.s.nextOID = oid + 1
	}
}

// conflict returns the error of a transaction that lost a race.
func conflict(what string) *pgerr.Error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent %s", what)
}

// finish checks what only the whole commit can violate, and completes the new state.
func (e *edit) finish() error {
	for _, m := range e.manifests {
		m.finish(e)
	}
	for _, r := range e.put {
		if e.s.relations[r.OID] != r {
			continue // replaced or dropped by a later change
		}
		if e.s.schemas[r.Schema] == nil {
			return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", r.Schema)
		}
		if err := e.dependenciesOf(r.Name, r.DependsOn); err != nil {
			return err
		}
	}
	for _, f := range e.putFunctions {
		if e.s.functions[f.OID] != f {
			continue
		}
		if err := e.dependenciesOf(f.Name, f.DependsOn); err != nil {
			return err
		}
	}
	if err := e.checkDropped(); err != nil {
		return err
	}
	for _, s := range e.droppedSchemas {
		if e.schemaInUse(s.OID) {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", s.Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
	}
	e.recordKeys()
	return nil
}

// dependenciesOf fails if something that an object depends on is gone.
func (e *edit) dependenciesOf(name string, on []Dep) error {
	for _, d := range on {
		if d.OID >= types.FirstUserOID && !e.exists(d.OID) {
			return conflict("delete").WithDetail("An object that %q depends on is gone.", name)
		}
	}
	return nil
}

func (e *edit) exists(oid types.OID) bool {
	return e.s.functions[oid] != nil || e.s.relations[oid] != nil || e.s.models[oid] != nil || e.s.EnumByOID(oid) != nil || e.s.schemas[oid] != nil || e.s.roles[oid] != nil
}

// checkDropped refuses to drop an object on which a relation depends: the gateway that drops it may not know
// of a relation that was created meanwhile.
func (e *edit) checkDropped() error {
	if len(e.dropped) == 0 {
		return nil
	}
	gone := map[types.OID]bool{}
	for _, oid := range e.dropped {
		gone[oid] = !e.exists(oid)
	}
	var first types.OID
	var name string
	dependent := func(oid types.OID, of string, on []Dep) {
		for _, d := range on {
			if gone[d.OID] && (first == 0 || oid < first) {
				first, name = oid, of
			}
		}
	}
	for _, r := range e.s.relations {
		dependent(r.OID, r.Name, r.DependsOn)
	}
	for _, f := range e.s.functions {
		dependent(f.OID, f.Name, f.DependsOn)
	}
	if first != 0 {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop desired object(s) because other objects depend on them").
			WithDetail("%s depends on a dropped object.", name).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	return nil
}

func (e *edit) schemaInUse(oid types.OID) bool {
	for n := range e.s.names {
		if n.Schema == oid {
			return true
		}
	}
	for n := range e.s.typeNames {
		if n.Schema == oid {
			return true
		}
	}
	for n := range e.s.modelName {
		if n.Schema == oid {
			return true
		}
	}
	for n := range e.s.functionNames {
		if n.Schema == oid {
			return true
		}
	}
	return false
}
