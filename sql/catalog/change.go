package catalog

import "github.com/tributarydb/tributary/sql/types"

// Change is one step from a State to the next. A commit is a list of changes
// that apply together or not at all. The kinds are the structs of this file;
// their fields, and the order of kinds in codec.go, only ever grow at the end,
// since changes are kept in durable logs.
type Change interface {
	apply(e *edit) error
}

type (
	// PutSchema makes or replaces a schema.
	PutSchema struct{ Schema *Schema }
	// DropSchema removes an empty schema.
	DropSchema struct{ OID types.OID }

	// PutRelation makes a relation (ExpectVersion 0) or replaces the one whose
	// descriptor has that version. The new descriptor's version is
	// ExpectVersion+1, whatever Rel says. A new table gets an empty manifest,
	// a new sequence its start; a table keeps its segments when the number of
	// its partitions changes.
	PutRelation struct {
		Rel           *Relation
		ExpectVersion uint64
	}
	// DropRelation removes a relation with all it owns in the state: manifest, position, comments. Its
	// dependents must be dropped in the same commit.
	DropRelation struct {
		OID           types.OID
		ExpectVersion uint64 // 0: any
	}

	// PutRole makes or replaces a role.
	PutRole struct{ Role *Role }
	// DropRole removes a role and its memberships.
	DropRole struct{ OID types.OID }

	// PutEnum makes or replaces a user's type.
	PutEnum struct{ Enum *EnumType }
	// DropEnum removes a user's type.
	DropEnum struct{ OID types.OID }

	// PutModel makes (ExpectVersion 0) or replaces a model, as PutRelation, with all
	// of its versions.
	PutModel struct {
		Model         *Model
		ExpectVersion uint64
	}
	// ChangeModel replaces a model's description and keeps its versions, except those of the numbers
	// Drop; Model.Versions are appended.
	ChangeModel struct {
		Model         *Model
		ExpectVersion uint64
		Drop          []int
	}
	// DropModel removes a model with its versions.
	DropModel struct {
		OID           types.OID
		ExpectVersion uint64 // 0: any
	}

	// PutJob makes a training job, which must not exist yet. The segments of its
	// Tables are pinned as they are now.
	PutJob struct{ Job *Job }
	// TakeJob moves a job to another coordinator, under a new epoch, so that the old one cannot write
	// any more. It fails (40001) if the job has left ExpectEpoch. Restart also restarts a job that had
	// failed or was cancelled.
	TakeJob struct {
		OID         types.OID
		ExpectEpoch uint64
		Coordinator uint64
		Restart     bool
		Micros      int64 // Unix time in µs
	}
	// EndJob records how a running job ended, for clients that wait for it.
	EndJob struct {
		OID              types.OID
		ExpectEpoch      uint64
		State            JobState
		Error, ErrorCode string // and what else the client receives
		ErrorDetail      string
		ErrorHint        string
		ErrorPosition    int
		Number           int // of the model's version, where State is JobDone
		UpdatedMicros    int64
	}
	// JobProgress updates parts of a job. The scalars replace the job's. History is appended; older
	// iterations with the same or greater numbers, from an interrupted attempt, are removed. Checkpoint or
	// CheckpointFile, if given, replaces both. An empty State keeps the job's state.
	JobProgress struct {
		OID             types.OID
		ExpectEpoch     uint64
		Iteration       int
		Phase           string
		Rows            int64
		UpdatedMicros   int64 // Unix time in µs
		History         []Iteration
		Checkpoint      []byte
		CheckpointFile  SegmentID
		CheckpointNodes []uint64
		CheckpointSHA   [32]byte
		CheckpointBytes int64
		Merges          []JobMerge   // once; empty for no change
		Trials          []ModelTrial // that have changed, which replace those with their numbers
	}
	// CancelJob asks a job to stop; harmless if it is gone.
	CancelJob struct{ OID types.OID }
	// CancelTrial asks a job to end one of its trials; harmless if either is gone.
	CancelTrial struct {
		OID   types.OID
		Trial int
	}
	// DropJob removes a job.
	DropJob struct{ OID types.OID }

	// PutNode makes a member or updates its description, except Draining, JoinedAt, Heir and the
	// requested resources. It fails if another has its name (42710), or if it was removed before
	// (55000).
	PutNode struct{ Node *Node }
	// DrainNode moves a member's files to other nodes, to Heir if it is not 0 and can take them, or
	// ends that. It fails (42704) if there is no such node.
	DrainNode struct {
		ID       uint64
		Draining bool
		Heir     uint64
	}
	// AskNode sets how much memory and how many threads a member should use; 0 for what it was started
	// with, -1 for no change. It fails (42704) if there is no such node.
	AskNode struct {
		ID      uint64
		Memory  int64
		Threads int
	}
	// DropNode removes a member for good: its id is never reused. Its replicas are removed from all
	// segments.
	DropNode struct{ ID uint64 }
	// SetCluster sets the cluster's id, in the place of Was (40001 if it has another).
	SetCluster struct{ ID, Was ClusterID }
	// FinalizeVersion raises the cluster's finalised version. A node whose program is older stops at it.
	FinalizeVersion struct{ Version uint32 }

	// PutSetting sets a cluster setting, or with Unset removes it.
	PutSetting struct {
		Name, Value string
		Unset       bool
	}
	// PutComment sets the comment on an object; "" removes it.
	PutComment struct {
		On   Dep
		Text string
	}

	// SetSequence moves a sequence (setval, RESTART).
	SetSequence struct {
		OID   types.OID
		Value SeqValue
	}
	// AdvanceSequence takes up to N values from a sequence, which are in the Outcome. At the
	// sequence's end there are fewer, at least one, or error 2200H.
	AdvanceSequence struct {
		OID types.OID
		N   int64
	}
	// ReturnSequence moves a sequence back to To if it is still at At, because the values between were taken
	// and not used. Otherwise it does nothing.
	ReturnSequence struct {
		OID    types.OID
		At, To SeqValue
	}
	// PutDatabase changes the database's owner and privileges.
	PutDatabase struct{ Database Database }
	// PutDefaultGrants sets the default privileges of a key; an entry equal to the built-in defaults
	// is removed.
	PutDefaultGrants struct{ Grants DefaultGrants }

	// AllocOIDs reserves N OIDs; the first is in the Outcome.
	AllocOIDs struct{ N int }

	// AppendSegments adds rows to a partition. ExpectVersion, if not 0, is the
	// descriptor's version under which the rows were checked and written.
	AppendSegments struct {
		Table         types.OID
		Part          int
		Segments      []*Segment
		ExpectVersion uint64
	}
	// ReplaceSegments puts New in the place of Old, holding the same live rows in the same order:
	// compaction. It conflicts (40001) if one of Old is gone or has other deleted rows since; then the
	// compactor discards its work.
	ReplaceSegments struct {
		Table types.OID
		Part  int
		Old   []SegmentRef
		New   []*Segment
	}
	// SetDeleted sets a segment's new bitmap of deleted rows. ExpectDeletedRows is how many there were
	// when the writer looked: bitmaps only grow, so a different number means that somebody else
	// deleted in between (40001). A segment with no live row left leaves the manifest.
	SetDeleted struct {
		Table             types.OID
		Segment           SegmentID
		Bitmap            []byte
		Rows              int64 // set bits in Bitmap
		ExpectDeletedRows int64
	}
	// DeleteRows deletes rows of a segment: Rows is a roaring bitmap (portable format) of row numbers
	// that were live when the writer looked. It conflicts (40001) only if one of these rows is deleted
	// by now, so writers of different rows do not conflict, and it follows rows that compaction has
	// moved since.
	DeleteRows struct {
		Table   types.OID
		Segment SegmentID
		Rows    []byte
		// ExpectVersion, if not 0, is the descriptor's version under which the
		// writer decided that the rows may go.
		ExpectVersion uint64
	}
	// LockRows checks that rows which were live when a reader locked them (SELECT FOR UPDATE) are
	// unchanged: it conflicts (40001) if one of them is deleted by now. It follows rows as DeleteRows
	// does. A commit that locks rows also claims them against others that lock them: see UniqueKeys.
	LockRows struct {
		Table   types.OID
		Segment SegmentID
		Rows    []byte // as in DeleteRows
	}
	// SetModelNodes records which nodes hold a model version's file. It is harmless where the version
	// is gone.
	SetModelNodes struct {
		Model  types.OID
		Number int
		Nodes  []uint64
	}
	// SetJobNodes records which nodes hold a job's checkpoint File. It is harmless where the job has
	// another one by now.
	SetJobNodes struct {
		Job   types.OID
		File  SegmentID
		Nodes []uint64
	}
	// ForgetPast removes the files that left the catalog up to a time (Unix µs) and are kept for the past alone: for
	// the room that they take.
	ForgetPast struct{ Micros int64 }
	// Truncate removes all segments of a table.
	Truncate struct {
		Table         types.OID
		ExpectVersion uint64 // of the descriptor; 0: any
	}
	// SetNodes records which nodes hold a segment's file. It is harmless where the segment is gone.
	SetNodes struct {
		Table   types.OID
		Segment SegmentID
		Nodes   []uint64
	}
	// UniqueKeys claims the keys (64-bit hashes) that this commit inserts under a unique constraint,
	// having checked them in version ReadVersion. It fails with 40001 if a commit in between claimed
	// one of them, or if the log no longer reaches back to ReadVersion; the writer then checks again.
	// All claims every key, for commits too large to list theirs.
	UniqueKeys struct {
		Table       types.OID
		Constraint  types.OID
		Hashes      []uint64
		ReadVersion uint64
		All         bool
		// Side is 0 for a unique constraint. A foreign key has two sides: SideRefers
		// claims the keys that its new rows refer to, SideRemoves those that leave
		// the table referred to; claims conflict only with the other side's. Locked
		// rows are claimed under their table's OID: FOR UPDATE with Side 0, FOR SHARE
		// with SideShares.
		Side uint8
	}
	// Guard fails with 40001 if the table's rows changed after version Since: rows were added
	// (Appends) or deleted (Deletes). Changes that were decided by reading all rows of a version, such
	// as adding a constraint, are committed under guards.
	Guard struct {
		Table            types.OID
		Since            uint64
		Appends, Deletes bool
	}
)

// The sides of a foreign key's claims.
const (
	SideRefers  uint8 = 1
	SideRemoves uint8 = 2
	// SideShares is the side of rows that are locked FOR SHARE.
	SideShares uint8 = 3
)

// SegmentRef names a segment as it was when somebody read it.
type SegmentRef struct {
	ID          SegmentID
	DeletedRows int64
}

// Outcome are the results of changes beside the new state, in the order of these changes.
type Outcome struct {
	OIDs      []types.OID // AllocOIDs: the first of each block
	Sequences []SeqRange  // AdvanceSequence
}

// SeqRange is a run of values of a sequence: First, First+Step, … Count values.
type SeqRange struct {
	First, Step, Count int64
}
