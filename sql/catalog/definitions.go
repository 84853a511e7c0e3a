package catalog

// Definitions identifies all that a state defines: schemas, relations, types, roles, models,
// settings, privileges. Two states with the same Definitions differ at most in rows: a plan, or
// anything else that was derived from the descriptors of one, is valid for the other.
type Definitions struct{ _ byte } // not of size 0: each has an address of its own

// Definitions returns the identity of the state's definitions.
func (s *State) Definitions() *Definitions { return s.definitions }

// defines reports whether a change may affect definitions, and not only rows. Kinds that are not
// listed do.
func defines(c Change) bool {
	switch c.(type) {
	case *AppendSegments, *ReplaceSegments, *SetDeleted, *DeleteRows, *LockRows, *Truncate, *SetNodes, *Guard, *UniqueKeys,
		*AdvanceSequence, *ReturnSequence, *SetSequence, *AllocOIDs, *JobProgress, *PutStatistics, *PutArchive, *WantArchive:
		return false
	}
	return true
}
