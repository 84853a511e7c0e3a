package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Operator is one thread's instance of a relational operator. Open opens its inputs. Next returns
// the next batch, io.EOF at the end and then always; the batch is immutable and, unless AllowReuse was
// called, may be kept. Close closes the inputs, may be called twice, before Open, and at any time
// between calls of Next, but not beside one: an operator belongs to its thread's goroutine.
type Operator interface {
	Open(ctx context.Context) error
	Next(ctx context.Context) (*batch.Batch, error)
	Close() error
}

// Reuser is an operator, or a reader, that can return batches in memory that it reuses. AllowReuse is
// called once it is open, by a consumer that is done with each batch before it asks for the next.
type Reuser interface{ AllowReuse() }

// AllowReuse calls in.AllowReuse if in is a Reuser: its batches are not kept.
func AllowReuse(in any) {
	if l, ok := in.(Reuser); ok {
		l.AllowReuse()
	}
}

// BatchReader is a stream of batches: io.EOF at the end. Close may be called
// twice.
type BatchReader interface {
	Next(ctx context.Context) (*batch.Batch, error)
	Close() error
}

// Program computes a column over a batch: eval.Program. Eval's result may be
// kept, EvalScratch's lives until the next call. One a thread.
type Program interface {
	Eval(ctx context.Context, b *batch.Batch) (arrow.Array, error)
	EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error)
}

// Filter narrows a batch's selection: eval.Filter. One a thread.
type Filter interface {
	Select(ctx context.Context, b *batch.Batch) (*batch.Batch, error)
}

// Releaser is a Program or a Filter that stays charged for its last results until its next call.
// Release frees them at the end of its input: the statement goes on, and may need the memory for what
// it does with its rows.
type Releaser interface{ Release() }

func release(p any) {
	if r, ok := p.(Releaser); ok {
		r.Release()
	}
}

// Split is a part of a leaf's input. For a table it is rows [From, To) of a segment, Ordinal being
// the segment's number in the statement's snapshot; for a source it is part Part of Of, and so are,
// of a table's rows, those that the hash of the attributes HashBy makes it, if there are any. For a
// row found by an index, Key is the integer in its column KeyNum, if the scan's filter has no other
// condition.
type Split struct {
	Scan     int // which leaf of the stage, depth first (build.Leaves)
	Segment  *catalog.Segment
	Ordinal  uint32
	From, To int64
	Part, Of int
	HashBy   []int16
	Key      *int64
	KeyNum   int16
	Range    *Range // only rows with values in it are read; nil: all
}

// Range is the values from From to To of a column: attribute Num of the table, an
// integer or a date. Nulls says that NULL is among them.
type Range struct {
	Num      int16
	From, To int64
	Nulls    bool
}

// Splits hands out the splits of a task's leaves: io.EOF when a leaf has no
// more. Any thread may call it, several at once, with the split of the leaf that it
// read last, nil for none.
type Splits interface {
	Next(ctx context.Context, leaf int, last *Split) (*Split, error)
}

// Tables reads tables. Any thread may call it. It may leave out any rows that keys do not have.
// Intact returns an error if what was read so far may have been wrong.
type Tables interface {
	Open(ctx context.Context, s *plan.Scan, sp *Split, env *function.Env, keys []ScanKeys) (BatchReader, error)
	Intact() error
}

// Virtuals reads relations that are computed at the gateway.
type Virtuals interface {
	Open(ctx context.Context, v *plan.Virtual) (BatchReader, error)
}

// Sources reads table functions that can be split.
type Sources interface {
	Open(ctx context.Context, s *plan.Source, part, of int, pool *mem.Pool) (BatchReader, error)
}

// Exchange connects the stages of a statement.
type Exchange interface {
	// Writer returns the way out of a stage for this node's task.
	Writer(ctx context.Context, stage *plan.Stage) (ExchangeWriter, error)
	// Readers returns what the tasks of stage r.From send here: one reader a
	// sender where r.Merge is set, so that they can be merged, else one reader
	// of whatever comes first. (Waiting for one sender while another has no
	// credit left could go round in a circle.)
	Readers(ctx context.Context, r *plan.Receive) ([]BatchReader, error)
}

// ExchangeWriter sends a task's rows to the tasks that read them. Send waits
// for credit and may be called from several goroutines. CloseSend ends the
// stream once: with nil all is sent, with an error readers get that error.
type ExchangeWriter interface {
	Dests() int // how many tasks read the stage
	// Sent returns what has been sent to other nodes.
	Sent() (bytes, messages int64)
	Send(ctx context.Context, dest int, b *batch.Batch) error
	CloseSend(err error) error
}

// Writer writes the rows of one TableWrite into segments of a table. Flush finishes what is open
// and returns the segments written.
type Writer interface {
	Write(ctx context.Context, b *batch.Batch) error
	Flush(ctx context.Context) ([]catalog.Written, error)
	Abort() error
}

// Collector receives rows. Add may be called from any goroutine and does not keep the batch.
type Collector interface {
	Add(ctx context.Context, b *batch.Batch) error
}

// Collectors finds what plan.Collect names; an error if it is not on this node.
type Collectors interface {
	Collector(name string) (Collector, error)
}

// GroupTrainer trains models, one after the other, for one thread. Add adds rows from to to of a batch, which it
// does not keep; End ends the group and returns what became of it, with an error only for what is not the
// group's own. Close frees everything.
type GroupTrainer interface {
	Add(ctx context.Context, b *batch.Batch, from, to int) error
	End(ctx context.Context) ([]byte, error)
	Close() error
}

// GroupTrainers makes what trains the groups of a plan.TrainGroups, and says which are in its Done.
type GroupTrainers interface {
	GroupTrainer(n *plan.TrainGroups, pool *mem.Pool) (GroupTrainer, error)
	Done(keys []byte) func(key []byte) bool
}

// Writers makes the writer of a thread.
type Writers interface {
	Writer(ctx context.Context, w *plan.TableWrite) (Writer, error)
}
