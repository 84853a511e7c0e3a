package catalog

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (c *PutSchema) apply(e *edit) error {
	n := c.Schema
	if o := e.s.SchemaByName(n.Name); o != nil && o.OID != n.OID {
		return pgerr.New(pgerr.DuplicateSchema, "schema %q already exists", n.Name)
	}
	writable(e, mapSchemas, &e.s.schemas)[n.OID] = n
	e.noteOID(n.OID)
	return nil
}

func (c *DropSchema) apply(e *edit) error {
	o := e.s.schemas[c.OID]
	if o == nil {
		return conflict("delete")
	}
	delete(writable(e, mapSchemas, &e.s.schemas), c.OID)
	e.dropDefaults(c.OID)
	e.droppedSchemas = append(e.droppedSchemas, o)
	e.dropComments(c.OID)
	return nil
}

func (c *PutRelation) apply(e *edit) error {
	old := e.s.relations[c.Rel.OID]
	switch {
	case old == nil && c.ExpectVersion != 0:
		return conflict("delete")
	case old != nil && old.Version != c.ExpectVersion:
		return conflict("update")
	}
	key := QName{c.Rel.Schema, c.Rel.Name}
	if other, taken := e.s.names[key]; taken && other != c.Rel.OID {
		return pgerr.New(pgerr.DuplicateTable, "relation %q already exists", c.Rel.Name)
	}
	n := *c.Rel // the change may be applied again to another state
	n.Version = c.ExpectVersion + 1
	names := writable(e, mapNames, &e.s.names)
	if old != nil && (QName{old.Schema, old.Name}) != key {
		delete(names, QName{old.Schema, old.Name})
	}
	names[key] = n.OID
	writable(e, mapRelations, &e.s.relations)[n.OID] = &n
	e.noteOID(n.OID)
	e.put = append(e.put, &n)
	if n.Kind == KindTable || n.Kind == KindMatView {
		parts := max(n.Partitions, 1)
		switch m := e.s.manifests[n.OID]; {
		case m == nil:
			writable(e, mapManifests, &e.s.manifests)[n.OID] = &Manifest{Table: n.OID, Version: e.version, Partitions: make([][]*Segment, parts), tails: make([]*tail, parts)}
		case len(m.Partitions) != parts:
			me, err := e.manifest(n.OID)
			if err != nil {
				return err
			}
			me.resize(parts)
		}
	}
	if n.Kind == KindSequence && n.Seq != nil && old == nil {
		writable(e, mapSequences, &e.s.sequences)[n.OID] = SeqValue{Last: n.Seq.Start}
	}
	return nil
}

func (c *DropRelation) apply(e *edit) error {
	old := e.s.relations[c.OID]
	if old == nil {
		return conflict("delete")
	}
	if c.ExpectVersion != 0 && old.Version != c.ExpectVersion {
		return conflict("update")
	}
	delete(writable(e, mapRelations, &e.s.relations), c.OID)
	delete(writable(e, mapNames, &e.s.names), QName{old.Schema, old.Name})
	e.buryTable(old)
	if m := e.s.manifests[c.OID]; m != nil {
		e.buryAll(old, m)
		delete(writable(e, mapManifests, &e.s.manifests), c.OID)
		delete(e.manifests, c.OID)
	}
	if _, ok := e.s.sequences[c.OID]; ok {
		delete(writable(e, mapSequences, &e.s.sequences), c.OID)
	}
	if e.s.statistics[c.OID] != nil {
		delete(writable(e, mapStatistics, &e.s.statistics), c.OID)
	}
	e.dropKeys(c.OID)
	e.dropComments(c.OID)
	e.dropped = append(e.dropped, c.OID)
	return nil
}

func (c *PutRole) apply(e *edit) error {
	if o := e.s.RoleByName(c.Role.Name); o != nil && o.OID != c.Role.OID {
		return pgerr.New(pgerr.DuplicateObject, "role %q already exists", c.Role.Name)
	}
	if g := c.Role.ResourceGroup; g != 0 && e.s.groups[g] == nil {
		return conflict("delete")
	}
	writable(e, mapRoles, &e.s.roles)[c.Role.OID] = c.Role
	e.noteOID(c.Role.OID)
	return nil
}

func (c *DropRole) apply(e *edit) error {
	if e.s.roles[c.OID] == nil {
		return conflict("delete")
	}
	roles := writable(e, mapRoles, &e.s.roles)
	delete(roles, c.OID)
	e.dropDefaults(c.OID)
	isMember := func(m Membership) bool { return m.Role == c.OID }
	for oid, r := range roles {
		if slices.ContainsFunc(r.MemberOf, isMember) {
			n := *r
			n.MemberOf = slices.DeleteFunc(slices.Clone(r.MemberOf), isMember)
			roles[oid] = &n
		}
	}
	e.dropComments(c.OID)
	return nil
}

func (c *PutEnum) apply(e *edit) error {
	n := c.Enum
	key := QName{n.Schema, n.Name}
	if o, taken := e.s.typeNames[key]; taken && o != n.OID {
		return pgerr.New(pgerr.DuplicateObject, "type %q already exists", n.Name)
	}
	names := writable(e, mapTypeNames, &e.s.typeNames)
	if old := e.s.types[n.OID]; old != nil {
		delete(names, QName{old.Schema, old.Name})
	}
	names[key] = n.OID
	writable(e, mapTypes, &e.s.types)[n.OID] = n
	e.noteOID(n.OID)
	return nil
}

func (c *DropEnum) apply(e *edit) error {
	old := e.s.types[c.OID]
	if old == nil {
		return conflict("delete")
	}
	delete(writable(e, mapTypes, &e.s.types), c.OID)
	delete(writable(e, mapTypeNames, &e.s.typeNames), QName{old.Schema, old.Name})
	e.dropComments(c.OID)
	e.dropped = append(e.dropped, c.OID)
	return nil
}

func (c *PutModel) apply(e *edit) error {
	return e.putModel(c.Model, c.ExpectVersion, func(*Model) []ModelVersion { return c.Model.Versions })
}

func (c *ChangeModel) apply(e *edit) error {
	return e.putModel(c.Model, c.ExpectVersion, func(old *Model) (all []ModelVersion) {
		if old != nil {
			all = slices.DeleteFunc(slices.Clone(old.Versions), func(v ModelVersion) bool { return slices.Contains(c.Drop, v.Number) })
		}
		return append(all, c.Model.Versions...)
	})
}

// putModel makes or replaces a model; versions returns the new versions for the old model, which is nil if
// there was none.
func (e *edit) putModel(m *Model, expect uint64, versions func(old *Model) []ModelVersion) error {
	old := e.s.models[m.OID]
	switch {
	case old == nil && expect != 0:
		return conflict("delete")
	case old != nil && old.Version != expect:
		return conflict("update")
	}
	key := QName{m.Schema, m.Name}
	if o, taken := e.s.modelName[key]; taken && o != m.OID {
		return pgerr.New(pgerr.DuplicateObject, "model %q already exists", m.Name)
	}
	n := *m
	n.Version, n.Versions = expect+1, versions(old)
	e.buryVersions(old, &n)
	names := writable(e, mapModelName, &e.s.modelName)
	if old != nil {
		delete(names, QName{old.Schema, old.Name})
	}
	names[key] = n.OID
	writable(e, mapModels, &e.s.models)[n.OID] = &n
	e.noteOID(n.OID)
	return nil
}

func (c *DropModel) apply(e *edit) error {
	old := e.s.models[c.OID]
	if old == nil {
		return conflict("delete")
	}
	if c.ExpectVersion != 0 && old.Version != c.ExpectVersion {
		return conflict("update")
	}
	e.buryVersions(old, nil)
	delete(writable(e, mapModels, &e.s.models), c.OID)
	delete(writable(e, mapModelName, &e.s.modelName), QName{old.Schema, old.Name})
	e.dropComments(c.OID)
	e.dropped = append(e.dropped, c.OID)
	return nil
}

func (c *SetModelNodes) apply(e *edit) error {
	old := e.s.models[c.Model]
	if old == nil || old.Find(c.Number) == nil {
		return nil
	}
	n := *old
	n.Versions = slices.Clone(old.Versions)
	v := n.Find(c.Number)
	v.FileNodes = heldBy(v.FileNodes, c.Nodes)
	e.s.moved = e.version
	writable(e, mapModels, &e.s.models)[c.Model] = &n
	return nil
}

func fenced(model string) *pgerr.Error {
	return pgerr.New(pgerr.SerializationFailure, "the training job of model %q has passed to another coordinator", model)
}

func (c *PutJob) apply(e *edit) error {
	if e.s.jobs[c.Job.OID] != nil {
		return pgerr.New(pgerr.DuplicateObject, "training job %d already exists", c.Job.OID)
	}
	n := *c.Job
	n.ReadVersion, n.Reads, n.Marks, n.Merges = e.version, nil, nil, nil
	n.mark(JobMark{Kind: MarkStarted, Micros: n.CreatedAt.UnixMicro()})
	for _, oid := range n.Tables {
		if m := e.s.manifests[oid]; m != nil {
			n.Reads = append(n.Reads, m)
		}
	}
	for _, m := range c.Job.Reads { // others are as they are now
		if slices.ContainsFunc(n.Past, func(r *Relation) bool { return r.OID == m.Table }) {
			n.Reads = append(n.Reads, m)
		}
	}
	writable(e, mapJobs, &e.s.jobs)[n.OID] = &n
	e.noteOID(n.OID)
	return nil
}

// job copies a job for a change, if it is in the epoch that the change expects.
func (e *edit) job(oid types.OID, epoch uint64) (*Job, error) {
	old := e.s.jobs[oid]
	if old == nil {
		return nil, conflict("delete")
	}
	if old.Epoch != epoch {
		return nil, fenced(old.Model)
	}
	n := *old
	writable(e, mapJobs, &e.s.jobs)[oid] = &n
	return &n, nil
}

func (c *TakeJob) apply(e *edit) error {
	j, err := e.job(c.OID, c.ExpectEpoch)
	if err != nil {
		return err
	}
	j.Epoch++
	j.Coordinator = c.Coordinator
	m := JobMark{Kind: MarkTaken, Micros: c.Micros}
	if c.Restart {
		m.Kind = MarkResumed
		j.State, j.CancelRequested = JobRunning, false
		j.Error, j.ErrorCode, j.ErrorDetail, j.ErrorHint, j.ErrorPosition = "", "", "", "", 0
	}
	j.mark(m)
	return nil
}

func (c *EndJob) apply(e *edit) error {
	j, err := e.job(c.OID, c.ExpectEpoch)
	if err != nil {
		return err
	}
	if j.State != JobRunning {
		return conflict("update") // it ends once
	}
	j.State, j.Number, j.UpdatedAt = c.State, c.Number, time.UnixMicro(c.UpdatedMicros).UTC()
	j.Error, j.ErrorCode, j.ErrorDetail, j.ErrorHint, j.ErrorPosition = c.Error, c.ErrorCode, c.ErrorDetail, c.ErrorHint, c.ErrorPosition
	j.mark(JobMark{Kind: string(c.State), Micros: c.UpdatedMicros})
	if c.State == JobDone || j.Attached || j.Checkpoint == nil && j.CheckpointFile.IsZero() { // nothing can go on from it
		j.Reads = nil
	}
	return nil
}

func (c *JobProgress) apply(e *edit) error {
	j, err := e.job(c.OID, c.ExpectEpoch)
	if err != nil {
		return err
	}
	j.Iteration, j.Phase, j.Rows, j.UpdatedAt = c.Iteration, c.Phase, c.Rows, time.UnixMicro(c.UpdatedMicros).UTC()
	if len(c.History) > 0 {
		keep := len(j.History)
		for keep > 0 && j.History[keep-1].Number >= c.History[0].Number {
			keep--
		}
		j.History = append(j.History[:keep:keep], c.History...)
	}
	if len(c.Merges) > 0 {
		j.Merges = c.Merges
	}
	if len(c.Trials) > 0 {
		j.Trials = slices.Clone(j.Trials)
	}
	for _, t := range c.Trials {
		at, known := slices.BinarySearchFunc(j.Trials, t.Number, func(x ModelTrial, n int) int { return cmp.Compare(x.Number, n) })
		if known {
			j.Trials[at] = t
		} else {
			j.Trials = slices.Insert(j.Trials, at, t)
		}
	}
	if c.Checkpoint != nil || !c.CheckpointFile.IsZero() {
		j.Checkpoint, j.CheckpointFile, j.CheckpointNodes, j.CheckpointSHA, j.CheckpointBytes = c.Checkpoint, c.CheckpointFile, c.CheckpointNodes, c.CheckpointSHA, c.CheckpointBytes
		j.mark(JobMark{Kind: MarkCheckpoint, Micros: c.UpdatedMicros, Bytes: j.Blob().Bytes})
	}
	return nil
}

func (c *SetJobNodes) apply(e *edit) error {
	old := e.s.jobs[c.Job]
	if old == nil || old.CheckpointFile != c.File {
		return nil
	}
	n := *old
	n.CheckpointNodes = c.Nodes
	writable(e, mapJobs, &e.s.jobs)[c.Job] = &n
	return nil
}

func (c *CancelJob) apply(e *edit) error {
	if old := e.s.jobs[c.OID]; old != nil && !old.CancelRequested {
		n := *old
		n.CancelRequested = true
		writable(e, mapJobs, &e.s.jobs)[c.OID] = &n
	}
	return nil
}

func (c *CancelTrial) apply(e *edit) error {
	old := e.s.jobs[c.OID]
	if old == nil {
		return nil
	}
	if at, asked := slices.BinarySearch(old.CancelledTrials, c.Trial); !asked {
		n := *old
		n.CancelledTrials = slices.Insert(slices.Clone(old.CancelledTrials), at, c.Trial)
		writable(e, mapJobs, &e.s.jobs)[c.OID] = &n
	}
	return nil
}

func (c *DropJob) apply(e *edit) error {
	delete(writable(e, mapJobs, &e.s.jobs), c.OID)
	return nil
}

func (c *PutNode) apply(e *edit) error {
	if e.s.removed[c.Node.ID] {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %q was removed from the cluster", c.Node.Name).
			WithHint("Start it with an empty directory and --join.")
	}
	for _, o := range e.s.nodes {
		if o.ID != c.Node.ID && o.Name == c.Node.Name {
			return pgerr.New(pgerr.DuplicateObject, "node %q already exists", c.Node.Name).
				WithHint("Start the node with another --node name, or decommission the old one.")
		}
	}
	n := *c.Node
	if old := e.s.nodes[n.ID]; old != nil {
		n.Keep(old)
	}
	writable(e, mapNodes, &e.s.nodes)[n.ID] = &n
	return nil
}

func (c *DrainNode) apply(e *edit) error {
	old := e.s.nodes[c.ID]
	if old == nil {
		return pgerr.New(pgerr.UndefinedObject, "node %x does not exist", c.ID)
	}
	n := *old
	n.Draining, n.Heir = c.Draining, c.Heir
	writable(e, mapNodes, &e.s.nodes)[n.ID] = &n
	return nil
}

func (c *AskNode) apply(e *edit) error {
	old := e.s.nodes[c.ID]
	if old == nil {
		return pgerr.New(pgerr.UndefinedObject, "node %x does not exist", c.ID)
	}
	n := *old
	if c.Memory >= 0 {
		n.AskMemory = c.Memory
	}
	if c.Threads >= 0 {
		n.AskThreads = c.Threads
	}
	writable(e, mapNodes, &e.s.nodes)[n.ID] = &n
	return nil
}

func (c *SetCluster) apply(e *edit) error {
	if e.s.cluster != c.Was {
		return conflict("update")
	}
	e.s.cluster = c.ID
	return nil
}

func (c *FinalizeVersion) apply(e *edit) error {
	e.s.finalized = max(e.s.finalized, c.Version)
	return nil
}

func (c *DropNode) apply(e *edit) error {
	delete(writable(e, mapNodes, &e.s.nodes), c.ID)
	writable(e, mapRemoved, &e.s.removed)[c.ID] = true
	for _, table := range slices.Sorted(maps.Keys(e.s.manifests)) {
		e.forgetNode(table, c.ID)
	}
	e.forgetGraves(c.ID)
	e.s.moved = e.version
	for _, f := range e.s.BlobFiles() {
		if at := slices.Index(f.File.Nodes, c.ID); at >= 0 {
			if err := f.Held(slices.Delete(slices.Clone(f.File.Nodes), at, at+1)).apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *PutSetting) apply(e *edit) error {
	m := writable(e, mapSettings, &e.s.settings)
	was := m[c.Name]
	if c.Unset {
		delete(m, c.Name)
	} else {
		m[c.Name] = c.Value
	}
	if c.Name == SettingArchive && m[c.Name] != was {
		e.stopArchive()
	}
	return nil
}

func (c *PutComment) apply(e *edit) error {
	m := writable(e, mapComments, &e.s.comments)
	if c.Text == "" {
		delete(m, c.On)
	} else {
		m[c.On] = c.Text
	}
	return nil
}

func (c *PutDatabase) apply(e *edit) error {
	e.s.database = c.Database
	return nil
}

// dropDefaults removes the default privileges of a role or in a schema.
func (e *edit) dropDefaults(oid types.OID) {
	for k := range e.s.defaults {
		if k.Role == oid || k.Schema == oid {
			delete(writable(e, mapDefaults, &e.s.defaults), k)
		}
	}
}

func (c *PutDefaultGrants) apply(e *edit) error {
	m := writable(e, mapDefaults, &e.s.defaults)
	k := c.Grants.Key
	m[k] = c.Grants.ACL
	if k.Schema == 0 && slices.Equal(c.Grants.ACL, defaultACL(k.Class, k.Role)) || k.Schema != 0 && len(c.Grants.ACL) == 0 {
		delete(m, k)
	}
	return nil
}

func (e *edit) dropComments(oid types.OID) {
	for d := range e.s.comments {
		if d.OID == oid {
			delete(writable(e, mapComments, &e.s.comments), d)
		}
	}
}

func (c *AllocOIDs) apply(e *edit) error {
	if c.N <= 0 || uint64(e.s.nextOID)+uint64(c.N) >= 1<<32 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "cannot reserve %d object identifiers", c.N)
	}
	e.out.OIDs = append(e.out.OIDs, e.s.nextOID)
	e.s.nextOID += types.OID(c.N)
	return nil
}

func (c *SetSequence) apply(e *edit) error {
	if r := e.s.relations[c.OID]; r == nil || r.Kind != KindSequence {
		return conflict("delete")
	}
	writable(e, mapSequences, &e.s.sequences)[c.OID] = c.Value
	return nil
}

func (c *AdvanceSequence) apply(e *edit) error {
	r := e.s.relations[c.OID]
	if r == nil || r.Seq == nil {
		return conflict("delete")
	}
	got, next, err := r.Seq.Take(r.Name, e.s.sequences[c.OID], c.N)
	if err != nil {
		return err
	}
	writable(e, mapSequences, &e.s.sequences)[c.OID] = next
	e.out.Sequences = append(e.out.Sequences, got)
	return nil
}

func (c *ReturnSequence) apply(e *edit) error {
	if e.s.sequences[c.OID] == c.At {
		writable(e, mapSequences, &e.s.sequences)[c.OID] = c.To
	}
	return nil
}

// Take takes up to n values from a sequence at v, at least one: fewer where it ends or cycles.
func (q *Sequence) Take(name string, v SeqValue, n int64) (SeqRange, SeqValue, error) {
	first := v.Last
	if v.Called {
		switch {
		case q.Increment > 0 && (v.Last > q.Max-q.Increment || q.Max-q.Increment > q.Max):
			if !q.Cycle {
				return SeqRange{}, v, pgerr.New(pgerr.SequenceGeneratorLimitExceeded, "nextval: reached maximum value of sequence %q (%d)", name, q.Max)
			}
			first = q.Min
		case q.Increment < 0 && (v.Last < q.Min-q.Increment || q.Min-q.Increment < q.Min):
			if !q.Cycle {
				return SeqRange{}, v, pgerr.New(pgerr.SequenceGeneratorLimitExceeded, "nextval: reached minimum value of sequence %q (%d)", name, q.Min)
			}
			first = q.Max
		default:
			first = v.Last + q.Increment
		}
	}
	// Differences of int64 may need 64 unsigned bits.
	var more uint64
	if q.Increment > 0 {
		more = (uint64(q.Max) - uint64(first)) / uint64(q.Increment)
	} else {
		more = (uint64(first) - uint64(q.Min)) / -uint64(q.Increment)
	}
	count := int64(1)
	if n > 1 {
		count += int64(min(uint64(n-1), more))
	}
	last := first + (count-1)*q.Increment
	return SeqRange{First: first, Step: q.Increment, Count: count}, SeqValue{Last: last, Called: true}, nil
}
