package catalog

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Model is a trained model with its versions.
type Model struct {
	OID      types.OID
	Schema   types.OID
	Name     string
	Owner    types.OID
	ACL      []Grant
	Default  int // the version predict uses
	Versions []ModelVersion
	Version  uint64 // counts the descriptor's changes
	Last     int    // the highest number that a version ever had: numbers are not reused
	Aliases  []ModelAlias
}

// ModelAlias is a name for one of a model's versions. A model has them by name.
type ModelAlias struct {
	Name   string
	Number int
}

// ModelVersion is one result of training.
type ModelVersion struct {
	Number     int
	Algorithm  string
	Target     []string
	TargetType types.Type
	Classes    []string // of a classifier, as text, in the order of its probabilities
	Features   []ModelFeature
	Rows       int64
	Iterations int
	TrainLoss  float64
	Metrics    []NamedValue
	Seconds    float64
	SHA256     [32]byte // of Bytes, or of the file that holds them: see Blob
	Bytes      []byte   // canonical encoding (ml/model); nil where File is set
	File       SegmentID
	FileNodes  []uint64
	Statement  string // the TRAIN statement's text
	Options    []NamedText
	CreatedAt  time.Time
	History    []Iteration
	Task       string         // what the model is for: regression, classification, clustering …
	Outputs    []ModelFeature // the columns of its predictions, the value of predict() first
	Converged  bool           // the training ended before its last iteration
	Stopped    string         // why it ended
	Windows    *ModelWindows  // of a model of sequences
	// Inputs are the columns that the encoders take, if TRANSFORM computes them from the Features; nil if
	// they are the Features.
	Inputs   []ModelInput
	Warnings []ModelWarning // warnings for its users
	// FileBytes is the size of File; 0 for one from before sizes were kept.
	FileBytes int64
	Folds     []ModelFold // of a cross-validation
	// More are the targets beside the first. nil for a version from before they were recorded, whose targets
	// are all numbers.
	More []ModelTarget
	// Snapshot is what was trained on; nil for one from before it was kept.
	Snapshot *ModelSnapshot
	// Groups says that there is a model for each value of a key; nil for a single model. Metrics and losses are
	// means over groups then, weighted by their rows.
	Groups *ModelGroups
	// Search is the search of which this is the best trial; nil for none.
	Search *ModelSearch
	// Beside is the column that an evaluation needs beside the target: of durations whether the event happened,
	// of ranked rows their query. "" for none, and for a version from before it was kept.
	Beside string `codec:"hint"`
	// Origin is what it was trained with; nil for one that was imported, or from before it was kept.
	Origin *ModelOrigin `codec:"hint"`
	// Profile is how the features of the training rows are distributed (exec/profile); nil where that is not known.
	Profile []byte `codec:"hint"`
}

// ModelOrigin is what a training took from around it, beside the rows.
type ModelOrigin struct {
	Session []byte // what the statement needs of its session, as in Job
	By      string // the role that trained
	Build   string // the version of the program
	Parent  int    // the version that a warm start went on from; 0 for none
}

// ModelSearch is a search of settings.
type ModelSearch struct {
	Algorithm string
	Objective string // the metric by which a trial is the best
	Best      int    // its number
	Trials    []ModelTrial
}

// ModelTrial is a trial of a search. While the search runs it is what is known so far.
type ModelTrial struct {
	Number     int
	Args       []NamedText // the options that are searched
	State      string
	Objective  float64 // NaN where there is none
	Folds      []float64
	Metrics    []NamedValue
	Rung       int
	Iterations int
	Seconds    float64
	ErrorCode  string
	Error      string
	Version    int `codec:"hint"` // of the model, that has the trial's model; 0 where it is not kept
}

// ModelGroups are the models of the groups of a training, one object of the catalog.
type ModelGroups struct {
	By            []ModelGroupKey
	Total, Failed int64
	Unknown       string // what is predicted for a group that has no model: UnknownNull and so on
	// Base is what says which groups another training need not train; nil for none. Kept is how many this one
	// did not.
	Base *GroupBase `codec:"hint"`
	Kept int64      `codec:"hint"`
}

// GroupBase says what groups were trained on whose rows lie in one partition of a table each: what all depend on, as
// a hash, and the digests of the table's partitions.
type GroupBase struct {
	Plan       [32]byte
	Table      types.OID
	Partitions [][32]byte
}

// ModelGroupKey is a column of the key. Key is the type by which groups are found.
type ModelGroupKey struct {
	Name      string
	Type, Key types.Type
}

// Shown returns the type in which relations show the key: an enum's is text.
func (k ModelGroupKey) Shown() types.Type {
	if k.Type.OID >= types.FirstUserOID {
		return k.Key
	}
	return k.Type
}

// What is predicted for a group that has no model.
const (
	UnknownNull   = "null"
	UnknownError  = "error"
	UnknownPooled = "pooled" // by the model of all rows
)

// ModelSnapshot says which rows a model was trained on: those of a state's version, and of the tables as they were
// then.
type ModelSnapshot struct {
	Version uint64
	At      time.Time
	Tables  []ModelTable
}

// ModelTable is a table as it was trained on: what it was called, the version of its last change, its rows,
// and what is the same wherever the same rows lie in the same segments (Manifest.Digest).
type ModelTable struct {
	OID          types.OID
	Schema, Name string
	Version      uint64
	Rows         int64
	Digest       [32]byte
	Columns      []string `codec:"hint"` // that were read, in the table's order
}

// ModelTarget is what a model predicts, beside another target.
type ModelTarget struct {
	Type    types.Type
	Classes []string // as ModelVersion.Classes
}

// Part returns a version as a model of one of its several targets, counted from 0.
func (v *ModelVersion) Part(target int) *ModelVersion {
	out := *v
	out.Target, out.Outputs, out.More = v.Target[target:target+1], v.Outputs[target+1:target+2], nil
	if target > 0 {
		out.TargetType, out.Classes = out.Outputs[0].Type, nil
		if v.More != nil {
			out.TargetType, out.Classes = v.More[target-1].Type, v.More[target-1].Classes
		}
	}
	if out.Task = TaskRegression; out.Classes != nil {
		out.Task = TaskClassification
	}
	out.Metrics = nil
	for _, m := range v.Metrics { // no metric has a point in its name; a target may
		if name, ok := strings.CutPrefix(m.Name, v.Target[target]+"."); ok && !strings.Contains(name, ".") {
			out.Metrics = append(out.Metrics, NamedValue{Name: name, Value: m.Value})
		}
	}
	return &out
}

// Blob returns the blob of the version's canonical encoding.
func (v *ModelVersion) Blob() *Segment {
	if v.File.IsZero() {
		return &Segment{Inline: v.Bytes, Bytes: int64(len(v.Bytes)), SHA256: v.SHA256}
	}
	return &Segment{ID: v.File, Bytes: v.FileBytes, SHA256: v.SHA256, Nodes: v.FileNodes}
}

// Keep sets the blob of the version's canonical encoding.
func (v *ModelVersion) Keep(b *Segment) {
	v.Bytes, v.File, v.FileBytes, v.FileNodes, v.SHA256 = b.Inline, b.ID, b.Bytes, b.Nodes, b.SHA256
	if b.Inline != nil {
		v.File, v.FileBytes, v.FileNodes = SegmentID{}, 0, nil
	}
}

// ModelFold is a fold of a cross-validation, with the metrics of the model that was trained on the other
// folds.
type ModelFold struct {
	Rows, Held int64 // trained on; of the fold
	Iterations int
	Seconds    float64
	Metrics    []NamedValue
}

// ModelWarning is a warning about a model.
type ModelWarning struct{ Message, Hint string }

// ModelInput is a column that is computed of a model's features.
type ModelInput struct {
	Name string
	Type types.Type
	Expr string
}

// ModelWindows are the windows of a model of sequences: Length consecutive rows of a partition, in its order,
// beginning at every Stride-th row.
type ModelWindows struct {
	PartitionBy, OrderBy []ModelFeature
	Length, Stride       int
}

// Tasks that differ in what an evaluation measures.
const (
	TaskRegression     = "regression"
	TaskClassification = "classification"
	TaskTimeToEvent    = "time-to-event"
	TaskClustering     = "clustering"
	TaskRanking        = "ranking"
	TaskForecasting    = "forecasting"
	TaskRecommendation = "recommendation"
	TaskNeighborSearch = "neighbor-search"
	TaskAnomaly        = "anomaly-detection"
)

// Time is the column of the times of a model that continues series; nil of another model.
func (v *ModelVersion) Time() *ModelFeature {
	if v.Task != TaskForecasting {
		return nil
	}
	for i := range v.Features {
		if len(v.Features) == 1 || v.Features[i].Name == v.Beside { // it was not kept from the first
			return &v.Features[i]
		}
	}
	return nil
}

// ModelFeature is an input column of a model, or a column of its predictions.
type ModelFeature struct {
	Name string
	Type types.Type
}

// NamedValue and NamedText keep an order that a map would lose.
type NamedValue struct {
	Name  string
	Value float64
}

// NamedText is a name with a text value.
type NamedText struct{ Name, Value string }

// Iteration is a row of ml.training_history.
type Iteration struct {
	Number         int
	TrainLoss      float64
	ValidationLoss float64 // NaN where there is no holdout
	Seconds        float64
}

// Bare returns the model without its versions, as ChangeModel takes it.
func (m *Model) Bare() *Model {
	n := *m
	n.Versions = nil
	return &n
}

// Find returns the version with this number; 0 means the default. nil if none.
func (m *Model) Find(number int) *ModelVersion {
	if number == 0 {
		number = m.Default
	}
	for i := range m.Versions {
		if m.Versions[i].Number == number {
			return &m.Versions[i]
		}
	}
	return nil
}

// Want is Find, or an error that lists the versions.
func (m *Model) Want(number int) (*ModelVersion, error) {
	v := m.Find(number)
	switch {
	case v != nil:
		return v, nil
	case number == 0:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model %q has no version", m.Name)
	}
	return nil, m.NoVersion(number)
}

// Named returns the number of the version that an alias names, as it is written or else in lower case; 0 if none.
func (m *Model) Named(alias string) int {
	for _, name := range []string{alias, strings.ToLower(alias)} {
		for _, a := range m.Aliases {
			if a.Name == name {
				return a.Number
			}
		}
	}
	return 0
}

// AliasesOf returns the names of a version, in order.
func (m *Model) AliasesOf(number int) (out []string) {
	for _, a := range m.Aliases {
		if a.Number == number {
			out = append(out, a.Name)
		}
	}
	return out
}

// NoVersion returns the error for a version that does not exist.
func (m *Model) NoVersion(number int) error {
	return pgerr.New(pgerr.UndefinedObject, "model %q has no version %d", m.Name, number).WithDetail("Its versions are %s.", m.numbers())
}

// NoAlias returns the error for an alias that does not exist.
func (m *Model) NoAlias(name string) *pgerr.Error {
	err := pgerr.New(pgerr.UndefinedObject, "model %q has no alias %q", m.Name, name)
	if len(m.Aliases) == 0 {
		return err.WithHint("ALTER MODEL %s SET ALIAS gives a version a name.", lex.QuoteName(m.Name))
	}
	var all []string
	for _, a := range m.Aliases {
		all = append(all, a.Name+" for version "+strconv.Itoa(a.Number))
	}
	return err.WithDetail("Its aliases are %s.", strings.Join(all, ", "))
}

// Next returns the number of the version that is trained next.
func (m *Model) Next() int {
	n := m.Last
	for i := range m.Versions {
		n = max(n, m.Versions[i].Number) // of a model from before numbers were counted
	}
	return n + 1
}

// numbers lists the versions, neighbours as a range: "1-4, 7; the default is 7".
func (m *Model) numbers() string {
	var b strings.Builder
	for i := 0; i < len(m.Versions); {
		from, to := m.Versions[i].Number, m.Versions[i].Number
		for i++; i < len(m.Versions) && m.Versions[i].Number == to+1; i++ {
			to++
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(from))
		if to > from {
			b.WriteString("-" + strconv.Itoa(to))
		}
	}
	return b.String() + "; the default is " + strconv.Itoa(m.Default)
}

// JobState is the state of a training job.
type JobState string

// The states of a job: queued → running → done | failed | cancelled.
const (
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
)

// Job is a training job: all that a node needs to continue it.
type Job struct {
	OID       types.OID
	Schema    types.OID
	Model     string // the name the model will have
	Owner     types.OID
	Session   []byte // what the statement needs of its session: search path, time zone, parameters
	Statement string // TRAIN MODEL …, whose name Schema and Model stand for
	// Replace is the version of the model's descriptor that the job adds a
	// version to; 0 for a new model.
	Replace uint64
	// Attached: the job belongs to a session on the node Coordinator and ends with it: its model is
	// committed by the session's open transaction. No other node can take it over.
	Attached    bool
	ReadVersion uint64 // the state version whose rows are trained on
	// Tables are what the job reads, and Reads their segments at ReadVersion,
	// which are kept until the job ends. PutJob fills in both.
	Tables          []types.OID
	Reads           []*Manifest
	State           JobState
	Error           string
	ErrorCode       string
	ErrorDetail     string
	ErrorHint       string
	ErrorPosition   int
	Coordinator     uint64 // node that drives it
	Epoch           uint64 // grows with every change of coordinator: the fence
	Iteration       int
	Checkpoint      []byte // small ones; nil where CheckpointFile is set
	CheckpointFile  SegmentID
	CheckpointNodes []uint64 // the nodes that hold CheckpointFile
	CheckpointSHA   [32]byte
	History         []Iteration
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Phase           string
	Rows            int64
	CancelRequested bool
	MaxIterations   int   // 0: not known
	Number          int   // of the model's version, once the job is done
	CheckpointBytes int64 // the size of CheckpointFile; 0 for one from before sizes were kept
	// Marks are what happened to the job, oldest first, at most jobMarks.
	Marks []JobMark
	// Merges is the tree in which the sums of the nodes' rows are merged, from its root on.
	Merges []JobMerge
	Trials []ModelTrial // of a search, by number, as far as they have begun
	// CancelledTrials are the numbers of those that were asked to end, ascending.
	CancelledTrials []int
	// Past are the tables of the past that the query reads, in the order in which it names them, as they are in the statement's
	// state (WithPast). Their segments are among Reads.
	Past []*Relation
	// Retrain is the version of the model that is trained again over the rows as they are now; 0 for none.
	Retrain int `codec:"hint"`
	// Verify is the version of the model that is trained again to see whether it is the same; 0 for none. Its job is of a
	// session and makes no version.
	Verify int `codec:"hint"`
}

// JobMerge is a place in the tree of a job's reductions: place Index of level Level, counted from the nodes' own sums
// at level 0, is merged on node Node of places 2·Index and 2·Index+1 of the level below.
type JobMerge struct {
	Level, Index int
	Node         uint64
}

// JobMark is something that happened to a job at an iteration: of several checkpoints in a row the last is kept.
type JobMark struct {
	Kind      string // started, checkpoint, taken over, resumed, or the state in which it ended
	Iteration int
	Node      uint64 // that drives it from then on
	Micros    int64  // Unix time in µs; 0 where not known
	Bytes     int64  // of a checkpoint
}

// The kinds of mark beside states.
const (
	MarkStarted    = "started"
	MarkCheckpoint = "checkpoint"
	MarkTaken      = "taken over"
	MarkResumed    = "resumed"
)

const jobMarks = 100

// mark adds a mark: the first one stays, and of many others the newest.
func (j *Job) mark(m JobMark) {
	m.Iteration, m.Node = j.Iteration, j.Coordinator
	n := len(j.Marks)
	switch {
	case n > 0 && m.Kind == MarkCheckpoint && j.Marks[n-1].Kind == MarkCheckpoint:
		j.Marks = append(slices.Clone(j.Marks[:n-1]), m)
	case n == jobMarks:
		j.Marks = append(append(slices.Clone(j.Marks[:1]), j.Marks[2:]...), m)
	default:
		j.Marks = append(slices.Clone(j.Marks), m)
	}
}

// Blob returns the blob of the job's checkpoint; nil where there is none.
func (j *Job) Blob() *Segment {
	switch {
	case !j.CheckpointFile.IsZero():
		return &Segment{ID: j.CheckpointFile, Bytes: j.CheckpointBytes, SHA256: j.CheckpointSHA, Nodes: j.CheckpointNodes}
	case j.Checkpoint != nil:
		return &Segment{Inline: j.Checkpoint, Bytes: int64(len(j.Checkpoint)), SHA256: j.CheckpointSHA}
	}
	return nil
}

// At returns the state as the job reads it: the tables as they were when the job was made,
// everything else as in s.
func (j *Job) At(s *State) *State {
	n := *s
	n.manifests = maps.Clone(s.manifests)
	for _, oid := range j.Tables {
		delete(n.manifests, oid)
	}
	for _, m := range j.Reads {
		n.manifests[m.Table] = m
	}
	if len(j.Past) > 0 {
		n.relations = maps.Clone(s.relations)
		for _, r := range j.Past {
			n.relations[r.OID] = r
		}
	}
	return &n
}

// Without returns the state without the rows of some of a table's partitions.
func Without(s *State, table types.OID, parts []bool) *State {
	n, m := *s, *s.manifests[table]
	m.Partitions, m.live = slices.Clone(m.Partitions), nil
	for p := range m.Partitions {
		if parts[p] {
			m.Partitions[p] = nil
		}
	}
	n.manifests = maps.Clone(s.manifests)
	n.manifests[table] = &m
	return &n
}

// ClusterID identifies the cluster: random, made with the cluster. A recovery from
// the loss of a majority makes a new one.
type ClusterID [16]byte

// IsZero reports whether there is none yet.
func (id ClusterID) IsZero() bool { return id == ClusterID{} }

// String returns it as 32 hexadecimal digits.
func (id ClusterID) String() string { return hex.EncodeToString(id[:]) }

// Node is a member of the cluster.
type Node struct {
	ID       uint64
	Name     string
	Addr     string // cluster address, HOST:PORT
	PG, HTTP string
	Cores    int
	Threads  int
	Memory   int64
	Draining bool // its files are moved to other nodes, and it gets no new ones
	JoinedAt time.Time
	Zone     string // a failure domain: a rack, a site
	Heir     uint64 // of a draining node: the node that gets its files
	// What ALTER NODE sets, 0 for nothing; Threads and Memory are what it has.
	AskThreads int
	AskMemory  int64
}

// The settings of a cluster that nodes take, as State.Asked has it.
const (
	SettingMemory  = "memory" // in kB
	SettingThreads = "threads"
)

// Asked returns what a node should use, by ALTER NODE or else for all nodes: bytes and threads, 0
// for what it was started with.
func (s *State) Asked(n *Node) (memory int64, threads int) {
	memory, threads = n.AskMemory, n.AskThreads
	if v, ok := s.Setting(SettingMemory); ok && memory == 0 {
		kb, _ := strconv.ParseInt(v, 10, 64)
		memory = kb << 10
	}
	if v, ok := s.Setting(SettingThreads); ok && threads == 0 {
		threads, _ = strconv.Atoi(v)
	}
	return memory, threads
}

// Keep copies from an older description the fields that a node does not set itself.
func (n *Node) Keep(old *Node) {
	n.Draining, n.JoinedAt, n.Heir = old.Draining, old.JoinedAt, old.Heir
	n.AskThreads, n.AskMemory = old.AskThreads, old.AskMemory
}
