package groups

import "github.com/tributarydb/tributary/ml/canon"

// Outcome is what a node says of a group.
type Outcome struct {
	Node  uint64
	Long  int64  // the group's rows if it has too many for one thread, and was left
	Group []byte // the encoding of its Group
	// Bytes of the group's rows: as they came, encoded, and in temporary files.
	Read, Block, Written int64
	Spilled, Peak        int64 // of the statement on the node so far: in temporary files, and charged at most
}

// Append appends the encoding of an outcome.
func (o *Outcome) Append(b []byte) []byte {
	e := &canon.E{B: b}
	e.U64(o.Node)
	e.I64(o.Long)
	e.Bytes(o.Group)
	for _, n := range []int64{o.Read, o.Block, o.Written, o.Spilled, o.Peak} {
		e.I64(n)
	}
	return e.B
}

// DecodeOutcome reads what Append wrote. The group aliases b.
func DecodeOutcome(b []byte) (*Outcome, error) {
	d := canon.Read(b)
	o := &Outcome{Node: d.U64(), Long: d.I64(), Group: d.Bytes(), Read: d.I64(), Block: d.I64(), Written: d.I64(), Spilled: d.I64(), Peak: d.I64()}
	return o, d.Done("what became of a group")
}
