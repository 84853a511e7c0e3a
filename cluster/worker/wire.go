package worker

import (
	"context"
	"errors"
	"time"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The RPCs of a worker.
const (
	callRun    = "worker.run"
	callOrders = "worker.orders"
)

// startMsg begins a run on a node.
type startMsg struct {
	Run, Statement string
	Stages         []plan.Stage // without the roots of the gateway's
	Nodes          []uint64     // the gateway first
	Params         []types.Datum
	Env            envMsg
	Session        *function.Session
	Version        uint64 // of the catalog that the plan was made with
	BatchSize      int
	Limit          int64 // the statement's memory
	Role           types.OID
	Admit          admitMode
}

// envMsg is the encoding of a types.Env.
type envMsg struct {
	Zone             string
	Offset           int // of the zone, at Now
	DateStyle        datetime.DateStyle
	DateOrder        datetime.DateOrder
	IntervalStyle    datetime.IntervalStyle
	ExtraFloatDigits int
	ByteaOutput      types.ByteaOutput
	Now              time.Time
}

func envOut(e *types.Env) envMsg {
	if e == nil {
		e = types.DefaultEnv
	}
	loc := e.Location
	if loc == nil {
		loc = time.UTC
	}
	m := envMsg{Zone: loc.String(), DateStyle: e.DateStyle, DateOrder: e.DateOrder, IntervalStyle: e.IntervalStyle,
		ExtraFloatDigits: e.ExtraFloatDigits, ByteaOutput: e.ByteaOutput, Now: e.Now}
	_, m.Offset = e.Now.In(loc).Zone()
	return m
}

func (m envMsg) in() *types.Env {
	loc, ok := datetime.LoadZone(m.Zone)
	if !ok {
		loc = time.FixedZone(m.Zone, m.Offset)
	}
	return &types.Env{
		Settings:         datetime.Settings{Location: loc, DateStyle: m.DateStyle, DateOrder: m.DateOrder, IntervalStyle: m.IntervalStyle, Now: m.Now},
		ExtraFloatDigits: m.ExtraFloatDigits, ByteaOutput: m.ByteaOutput,
	}
}

// orders are a gateway's instructions to a run on a node.
type orders struct {
	Run      string
	Go, Stop bool
	// Rest returns the run's ticket while the statement waits for its client; Resume takes
	// it again.
	Rest, Resume bool
	Segments     []segmentMsg // those that splits of these or later orders name
	Splits       []splitMsg
	Ends         []leafID
}

type segmentMsg struct {
	Num     int
	Segment *catalog.Segment
}

// leafID names a leaf of a plan.
type leafID struct {
	Stage plan.StageID
	Leaf  int
}

type splitMsg struct {
	Leaf     leafID
	Portion  int // of splits in the same orders; reported when all of them are read
	Segment  int // 0: none
	Ordinal  uint32
	From, To int64
	Part, Of int
	Range    *op.Range
	HashBy   []int16
}

// event is what a run on a node reports to its gateway.
type event struct {
	Kind    eventKind
	Place   int    // queued: in the node's queue
	Leaf    leafID // done
	Portion int
	Err     *errMsg // failed
	Stats   []nodeStats
}

type eventKind uint8

const (
	evReady eventKind = iota + 1
	evDone
	evFailed
	evFinished
	evQueued
	evFull
	evStats // what its tasks have done so far
)

// nodeStats is what a plan node did in a task.
type nodeStats struct {
	Key   stage.Key
	Stats stage.NodeStats
}

func statsOf(id plan.StageID, list []*op.Stats) []nodeStats {
	out := make([]nodeStats, len(list))
	for i, s := range list {
		out[i] = nodeStats{stage.Key{Stage: id, Node: s.ID}, stage.NodeStats{
			Rows: s.Rows.Load(), Batches: s.Batches.Load(), Time: time.Duration(s.Nanos.Load()),
			Memory: s.Memory.Load(), Spilled: s.Spilled.Load(), Tasks: 1, Threads: s.Threads,
		}}
	}
	return out
}

func addStats(to stage.Actuals, list []nodeStats) {
	for _, s := range list {
		t := to[s.Key]
		t.Rows += s.Stats.Rows
		t.Batches += s.Stats.Batches
		t.Time += s.Stats.Time
		t.Memory += s.Stats.Memory
		t.Spilled += s.Stats.Spilled
		t.Tasks += s.Stats.Tasks
		t.Threads += s.Stats.Threads
		t.Sent += s.Stats.Sent
		t.Messages += s.Stats.Messages
		to[s.Key] = t
	}
}

// errMsg is the encoding of an error. Lost is the node that the sender could not reach,
// 0 for another cause; Mended is the segment that was damaged and has been repaired.
type errMsg struct {
	Repaired                                                                                  catalog.SegmentID
	Lost                                                                                      uint64
	Code, Severity, Message, Detail, Hint, Where, Schema, Table, Column, DataType, Constraint string
	Position                                                                                  int
}

func errOut(err error) *errMsg {
	var lost *flow.LostError
	m := &errMsg{}
	if errors.As(err, &lost) {
		m.Lost = lost.Node
	}
	var repaired *store.RepairedError
	if errors.As(err, &repaired) {
		m.Repaired = repaired.Segment
	}
	if errors.Is(err, context.Canceled) {
		err = pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	}
	e := pgerr.From(err)
	m.Code, m.Severity, m.Message, m.Detail, m.Hint, m.Where = string(e.Code), string(e.Severity), e.Message, e.Detail, e.Hint, e.Where
	m.Schema, m.Table, m.Column, m.DataType, m.Constraint, m.Position = e.Schema, e.Table, e.Column, e.DataType, e.Constraint, e.Position
	return m
}

func (m *errMsg) in() error {
	var err error = &pgerr.Error{Code: pgerr.Code(m.Code), Severity: pgerr.Severity(m.Severity), Message: m.Message, Detail: m.Detail, Hint: m.Hint,
		Where: m.Where, Schema: m.Schema, Table: m.Table, Column: m.Column, DataType: m.DataType, Constraint: m.Constraint, Position: m.Position}
	if !m.Repaired.IsZero() {
		err = &store.RepairedError{Segment: m.Repaired}
	}
	if m.Lost != 0 {
		err = &flow.LostError{Node: m.Lost, Err: err}
	}
	return err
}
