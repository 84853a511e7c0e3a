package catalog

// Definitions stands for all that a state defines: schemas, relations, types,
// roles, models, settings, privileges. Two states with the same Definitions define
// the same and differ at most in rows: what was made of the descriptors of one,
// such as a plan, is good for the other.
type Definitions struct{ _ byte } // not of size 0: each has an address of its own

// Definitions returns what distinguishes states that define something else.
func (s *State) Definitions() *Definitions { return s.definitions }

// defines reports whether a change may touch anything but rows and what follows
// them. What is not listed does.
func defines(c Change) bool {
	switch c.(type) {
	case *AppendSegments, *ReplaceSegments, *SetDeleted, *DeleteRows, *LockRows, *Truncate, *SetNodes, *Guard, *UniqueKeys,
		*AdvanceSequence, *ReturnSequence, *SetSequence, *AllocOIDs, *JobProgress:
		return false
	}
	return true
}
