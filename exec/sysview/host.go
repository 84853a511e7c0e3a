package sysview

import (
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Host provides the relations with the node's state that is not in the catalog. The gateway
// implements it. Every method returns rows in a fixed order.
type Host interface {
	Sessions() []SessionRow
	Settings() []SettingRow
	Prepared() []PreparedRow // of the current session
	Cursors() []CursorRow    // of the current session
	Locks() []LockRow
	Nodes() []NodeRow
	Tasks() []TaskRow
	// Archive is how many commits the archive lacks as far as the node knows, and since when the first is there.
	Archive() (behind int64, since time.Time)
	// NodeRows returns the rows of a relation of which each node has some, from all nodes that
	// answer, in the order of the nodes. They have the relation's columns; only those of cols, by
	// their numbers from 1, need to have values.
	NodeRows(relation string, cols []int16) ([][]types.Datum, error)
	// ModelRows returns the rows of a relation that looks into a model, such as
	// ml.weights('m'), or of ml.algorithms and ml.options, in the order of its shape; m is nil
	// where none was named, and part the number of the only part of it that is asked for, or 0. Of
	// trials, of which it is only asked where there are groups, it returns the encoded
	// catalog.ModelSearch of each after its key; nil for none.
	ModelRows(relation string, m *catalog.ModelVersion, more []types.Datum, put func(row []types.Datum) error) error
}

// SessionRow is a session, for pg_stat_activity and cluster.sessions.
type SessionRow struct {
	Node        string
	PID         int32
	User        types.OID
	UserName    string
	Application string
	ClientAddr  string // HOST:PORT, "" for none
	TLS         *TLSRow
	Backend     time.Time
	Xact        time.Time // zero: not in a transaction
	Query       time.Time
	StateChange time.Time
	State       string
	Text        string
	BackendType string // "" is "client backend"
	XID         int64
	Memory      int64
	Spilled     int64
	// Rows that the running statement has read, will read (0 unknown), has returned.
	Read, Total, Produced int64
	// The statement's place in the queue of a node, 0 if it does not wait.
	QueueNode  string
	QueuePlace int
	LockWait   bool      // for an advisory lock
	Progress   *Progress // of the running statement; nil for none
}

// TLSRow is a connection's encryption in pg_stat_ssl.
type TLSRow struct {
	Version, Cipher          string
	Bits                     int32
	ClientDN, Serial, Issuer string
}

// SettingRow is a row of pg_settings; empty texts are NULL where PostgreSQL
// has NULL.
type SettingRow struct {
	Name, Setting, Unit, Category, Desc, Context, Kind, Source string
	Min, Max                                                   string
	Enum                                                       []string
	Boot, Reset                                                string
}

// PreparedRow is a row of pg_prepared_statements.
type PreparedRow struct {
	Name, Statement string
	At              time.Time
	Params          []types.OID
	FromSQL         bool
	Generic, Custom int64
}

// CursorRow is a row of pg_cursors.
type CursorRow struct {
	Name, Statement              string
	Holdable, Binary, Scrollable bool
	At                           time.Time
}

// LockRow is a row of pg_locks. Advisory locks have Class, Object and SubID.
type LockRow struct {
	Type          string // "advisory", "relation", "transactionid"
	Relation      types.OID
	Class, Object types.OID
	SubID         int16
	PID           int32
	Mode          string
	Granted       bool
}

// NodeRow is what is known of a node besides its descriptor.
type NodeRow struct {
	ID                                    uint64
	State                                 string // "ready", "draining", "suspect", "down"
	Leader, Votes                         bool
	DiskFree                              int64 // of the data directory; -1 where that is not known
	MemoryLimit, MemoryUsed, Spilled, RSS int64
	MemoryIdle                            int64 // of what is used
	Damaged, Repaired                     int64 // segments, since the node started
	Models                                CachedModels
	Admitted, Queued                      int   // statements
	Admissions                            int64 // so far, since the node started
	AdmissionWait                         time.Duration
	ScrubDone, ScrubTotal                 int       // segments of the pass that runs
	ScrubCompleted                        time.Time // when the last pass ended; zero for never
	HeartbeatAge                          time.Duration
	Name, Address, PG, HTTP, Zone         string // for a node that the catalog does not have yet
	Version                               string // of its program
	Binary                                uint32 // version of what its program reads and writes; 0: not known
	Cores, Threads                        int
	Started                               time.Time
	DiskUsed                              int64 // of the file system of the data directory
}

// TaskRow is a running task.
type TaskRow struct {
	Statement               string
	Stage, Task             int
	Node                    string
	PID                     int32 // of the session at the gateway
	User                    types.OID
	State                   string
	SplitsDone, SplitsTotal int64
	Rows, Bytes             int64
	Memory, Spilled         int64
	Started                 time.Time
	Query                   string
}

// CachedModels are a node's decoded models: their bytes, those of models that no
// statement uses, and how many were decoded since the node started.
type CachedModels struct{ Bytes, Idle, Loads int64 }
