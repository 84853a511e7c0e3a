package catalog

import (
	"maps"
	"slices"
	"strings"
)

// TempSchemas begins the names of the schemas of temporary relations, one for a session.
const TempSchemas = "pg_temp_"

// WithoutSessions returns the state without what ends with its session: temporary relations, and trainings whose
// model a session's transaction would have committed.
func WithoutSessions(s *State) (*State, error) {
	var changes []Change
	temp := func(r *Relation) bool {
		sc := s.Schema(r.Schema)
		return sc != nil && strings.HasPrefix(sc.Name, TempSchemas)
	}
	for _, kind := range []RelKind{KindView, KindMatView, KindIndex, KindTable, KindSequence} {
		for _, r := range s.Relations() {
			if r.Kind == kind && temp(r) {
				changes = append(changes, &DropRelation{OID: r.OID})
			}
		}
	}
	for _, sc := range s.Schemas() {
		if strings.HasPrefix(sc.Name, TempSchemas) {
			changes = append(changes, &DropSchema{OID: sc.OID})
		}
	}
	for _, j := range s.Jobs() {
		if j.Attached && j.State == JobRunning {
			changes = append(changes, &DropJob{OID: j.OID})
		}
	}
	n, err := s.Apply(changes)
	if err == nil {
		n.graves = nil
	}
	return n, err
}

// Refound makes a state that was just decoded that of another cluster, which one node founds; holder, it or Bucket, has all files:
// no old member is a member, nor remembered as one.
func Refound(s *State, cluster ClusterID, holder uint64) {
	s.cluster, s.nodes, s.removed, s.graves = cluster, map[uint64]*Node{}, map[uint64]bool{}, nil
	// The archive goes on to be the old cluster's.
	s.archive, s.settings = nil, maps.Clone(s.settings)
	delete(s.settings, SettingArchive)
	delete(s.settings, SettingStorage)
	here := []uint64{holder}
	for g := range FilesOf(s) {
		g.Nodes = slices.Clone(here)
	}
	for _, m := range s.models {
		for i := range m.Versions {
			if v := &m.Versions[i]; !v.File.IsZero() {
				v.FileNodes = here
			}
		}
	}
	for _, j := range s.jobs {
		if !j.CheckpointFile.IsZero() {
			j.CheckpointNodes = here
		}
	}
}
