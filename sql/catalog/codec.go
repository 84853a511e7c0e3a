package catalog

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// kinds is the order of change kinds on disk. Add at the end only.
var kinds = []Change{
	&PutSchema{}, &DropSchema{}, &PutRelation{}, &DropRelation{}, &PutRole{}, &DropRole{}, &PutEnum{}, &DropEnum{},
	&PutModel{}, &DropModel{}, &PutJob{}, &JobProgress{}, &CancelJob{}, &DropJob{}, &PutNode{}, &DropNode{},
	&PutSetting{}, &PutComment{}, &SetSequence{}, &AdvanceSequence{}, &AllocOIDs{}, &AppendSegments{}, &ReplaceSegments{},
	&SetDeleted{}, &Truncate{}, &SetNodes{}, &UniqueKeys{}, &Guard{}, &DeleteRows{}, &SetModelNodes{}, &SetJobNodes{}, &TakeJob{}, &EndJob{}, &SetCluster{},
	&PutDatabase{}, &PutDefaultGrants{}, &DrainNode{}, &LockRows{}, &AskNode{}, &ReturnSequence{}, &ChangeModel{}, &PutStatistics{},
	&PutFunction{}, &DropFunction{},
	&PutSchedule{}, &DropSchedule{},
	&CancelTrial{},
	&FinalizeVersion{},
	&ForgetPast{},
	&PutSecret{}, &DropSecret{},
	&PutResourceGroup{}, &DropResourceGroup{},
	&PutArchive{},
	&WantArchive{},
}

func init() { codec.Union(kinds...) }

// Written is a result of a thread of a writing statement: a segment that it made, or rows of one
// that it deleted or replaced.
type Written struct {
	Segment *Segment // nil: rows of one that was there
	// Seq is the number of the segment's first row in the order of the source
	// (batch.Batch.Seq); -1 where there is none.
	Seq int64
	// Deleted is a bitmap of rows of the segment that has the number Ordinal in the
	// statement's snapshot.
	Ordinal uint32
	Deleted []byte
	// Rows is how many rows the statement inserted, updated or deleted there.
	Rows int64
}

// Marshal encodes w.
func (w Written) Marshal() []byte { return codec.Marshal(w) }

// UnmarshalWritten decodes the result of Marshal.
func UnmarshalWritten(b []byte) (Written, error) {
	w, err := codec.Unmarshal[Written](b)
	if err == nil && w.Segment == nil && w.Deleted == nil {
		err = pgerr.New(pgerr.DataCorrupted, "invalid encoding: no segment")
	}
	if s := w.Segment; err == nil && s != nil && (s.Part < 0 || s.Of < 0 || s.Of > 0 && s.Part >= s.Of) {
		err = pgerr.New(pgerr.DataCorrupted, "invalid encoding: part %d of %d", s.Part, s.Of)
	}
	return w, err
}

// image is the encoded form of a State.
type image struct {
	Version   uint64
	NextOID   types.OID
	Schemas   []*Schema
	Relations []*Relation
	Enums     []*EnumType
	Roles     []*Role
	Models    []*Model
	Jobs      []*Job
	Nodes     []*Node
	Manifests []*Manifest
	Sequences []imageSeq
	Settings  map[string]string
	Comments  []imageComment
	Unique    []imageKeys
	Cluster   ClusterID
	Removed   []uint64
	Database  Database
	Defaults  []DefaultGrants
	// Statistics are those of ANALYZE.
	Statistics []*Statistics
	Functions  []*Function
	Schedules  []*Schedule
	Finalized  uint32
	At         int64 // Unix µs
	Graves     []*Grave
	Forgotten  int64
	Secrets    []*Secret
	Groups     []*ResourceGroup
	Archive    *Archive
	Wanted     uint64
}

type imageSeq struct {
	OID   types.OID
	Value SeqValue
}

type imageComment struct {
	On   Dep
	Text string
}

type imageKeys struct {
	Constraint, Table types.OID
	Floor             uint64
	Entries           []imageEntry
}

type imageEntry struct {
	Version uint64
	All     bool
	Hashes  []uint64
	Side    uint8
}

// finality is the part of a State that says which version it has.
type finality struct{ finalized uint32 }

// Finalized returns the cluster's finalised version: what programs of later ones add is not used yet.
func (f finality) Finalized() uint32 { return max(f.finalized, 1) }

// The first byte of an encoded State. Behind stateVersioned is the finalised version; stateFormat is for
// version 1, whose programs know no other.
const (
	stateFormat    = 1
	stateVersioned = 2
)

// MarshalBinary encodes s. Equal states have equal encodings.
func (s *State) MarshalBinary() ([]byte, error) {
	im := image{Version: s.version, NextOID: s.nextOID, Schemas: sorted(s.schemas), Relations: sorted(s.relations), Enums: sorted(s.types),
		Roles: sorted(s.roles), Models: sorted(s.models), Jobs: sorted(s.jobs), Nodes: sorted(s.nodes), Manifests: sorted(s.manifests),
		Settings: s.settings, Cluster: s.cluster, Removed: slices.Sorted(maps.Keys(s.removed)), Database: s.database, Defaults: s.DefaultGrants(), Statistics: sorted(s.statistics), Functions: sorted(s.functions), Schedules: sorted(s.schedules),
		Finalized: s.finalized, At: s.at, Graves: s.graves, Forgotten: s.forgotten, Secrets: sorted(s.secrets), Groups: sorted(s.groups), Archive: s.archive, Wanted: s.wanted}
	for _, oid := range slices.Sorted(maps.Keys(s.sequences)) {
		im.Sequences = append(im.Sequences, imageSeq{oid, s.sequences[oid]})
	}
	for d, text := range s.comments {
		im.Comments = append(im.Comments, imageComment{d, text})
	}
	slices.SortFunc(im.Comments, func(a, b imageComment) int {
		return cmp.Or(cmp.Compare(a.On.OID, b.On.OID), cmp.Compare(a.On.Column, b.On.Column))
	})
	for _, oid := range slices.Sorted(maps.Keys(s.unique)) {
		l := s.unique[oid]
		k := imageKeys{Constraint: oid, Table: l.table, Floor: l.floor}
		for _, x := range l.entries {
			k.Entries = append(k.Entries, imageEntry{x.version, x.all, x.hashes, x.side})
		}
		im.Unique = append(im.Unique, k)
	}
	head := []byte{stateFormat}
	if s.finalized > 1 {
		head = binary.AppendUvarint([]byte{stateVersioned}, uint64(s.finalized))
	}
	return codec.Append(head, im), nil
}

// behindVersion checks the version of an encoded State, and returns the image behind it.
func behindVersion(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == stateFormat {
		return b[1:], version.Readable(1, "the catalog's snapshot")
	}
	if len(b) > 0 && b[0] == stateVersioned {
		v, n := binary.Uvarint(b[1:])
		if n > 0 && v <= math.MaxUint32 {
			return b[1+n:], version.Readable(uint32(v), "the catalog's snapshot")
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "unknown format of the catalog's snapshot")
}

// UnmarshalState decodes the result of MarshalBinary.
func UnmarshalState(b []byte) (*State, error) {
	b, err := behindVersion(b)
	if err != nil {
		return nil, err
	}
	im, err := codec.Unmarshal[image](b)
	if err != nil {
		return nil, err
	}
	s := New()
	s.version, s.nextOID, s.finalized = im.Version, im.NextOID, im.Finalized
	s.at, s.graves, s.forgotten, s.archive, s.wanted = im.At, im.Graves, im.Forgotten, im.Archive, im.Wanted // graveDue 0: the next commit computes it
	s.schemas, s.roles, s.comments = map[types.OID]*Schema{}, map[types.OID]*Role{}, map[Dep]string{}
	for _, x := range im.Schemas {
		s.schemas[x.OID] = x
	}
	for _, x := range im.Relations {
		s.relations[x.OID] = x
		s.names[QName{x.Schema, x.Name}] = x.OID
	}
	for _, x := range im.Enums {
		s.types[x.OID] = x
		s.typeNames[QName{x.Schema, x.Name}] = x.OID
	}
	for _, x := range im.Roles {
		s.roles[x.OID] = x
	}
	s.addPredefined()
	for _, x := range im.Models {
		s.models[x.OID] = x
		s.modelName[QName{x.Schema, x.Name}] = x.OID
	}
	for _, x := range im.Jobs {
		s.jobs[x.OID] = x
	}
	for _, x := range im.Nodes {
		s.nodes[x.ID] = x
	}
	s.cluster = im.Cluster
	for _, id := range im.Removed {
		s.removed[id] = true
	}
	for _, x := range im.Manifests {
		x.tails = make([]*tail, len(x.Partitions))
		x.count()
		s.manifests[x.Table] = x
	}
	for _, x := range im.Statistics {
		if s.statistics == nil {
			s.statistics = map[types.OID]*Statistics{}
		}
		s.statistics[x.Table] = x
	}
	for _, x := range im.Functions {
		if s.functions == nil {
			s.functions, s.functionNames = map[types.OID]*Function{}, map[QName][]types.OID{}
		}
		s.functions[x.OID] = x
		key := QName{x.Schema, x.Name}
		s.functionNames[key] = append(s.functionNames[key], x.OID)
	}
	for _, x := range im.Schedules {
		if s.schedules == nil {
			s.schedules = map[types.OID]*Schedule{}
		}
		s.schedules[x.OID] = x
	}
	for _, x := range im.Secrets {
		if s.secrets == nil {
			s.secrets = map[types.OID]*Secret{}
		}
		s.secrets[x.OID] = x
	}
	for _, x := range im.Groups {
		if s.groups == nil {
			s.groups = map[types.OID]*ResourceGroup{}
		}
		s.groups[x.OID] = x
	}
	for _, x := range im.Sequences {
		s.sequences[x.OID] = x.Value
	}
	if im.Settings != nil {
		s.settings = im.Settings
	}
	if im.Database.Owner != 0 {
		s.database = im.Database
	}
	for _, x := range im.Defaults {
		if s.defaults == nil {
			s.defaults = map[DefaultKey][]Grant{}
		}
		s.defaults[x.Key] = x.ACL
	}
	for _, x := range im.Comments {
		s.comments[x.On] = x.Text
	}
	for _, x := range im.Unique {
		l := &keyLog{table: x.Table, floor: x.Floor}
		for _, k := range x.Entries {
			l.entries = append(l.entries, keyEntry{k.Version, k.All, k.Hashes, k.Side})
			l.hashes += len(k.Hashes)
		}
		s.unique[x.Constraint] = l
	}
	return s, nil
}
