package groups

import (
	"crypto/sha256"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// Group is what became of a group.
type Group struct {
	Code, Error string // why there is no model; "" where there is one
	Rows        int64  // trained on; of a group without a model all that it has
	Iterations  int
	TrainLoss   float64
	Converged   bool
	Metrics     []family.Metric
	Classes     [][]string // the keys of the classes of each target, nil for a number
	SHA256      [sha256.Size]byte
	Model       []byte // canonical
	Search      []byte // the catalog.ModelSearch of which the model is the best trial's, encoded; nil for none
}

// Failed reports whether there is no model.
func (g *Group) Failed() bool { return g.Code != "" }

// Append appends the encoding of a group.
func (g *Group) Append(b []byte) []byte {
	e := &canon.E{B: b}
	e.Str(g.Code)
	e.Str(g.Error)
	e.I64(g.Rows)
	e.Int(g.Iterations)
	e.F64(g.TrainLoss)
	e.Bool(g.Converged)
	e.U32(uint32(len(g.Metrics)))
	for _, m := range g.Metrics {
		e.Str(m.Name)
		e.F64(m.Value)
	}
	e.U32(uint32(len(g.Classes)))
	for _, c := range g.Classes {
		e.Strs(c)
	}
	e.Bytes(g.SHA256[:])
	e.Bytes(g.Model)
	if g.Search != nil {
		e.Bytes(g.Search)
	}
	return e.B
}

// Decode reads what Append wrote. The model aliases b.
func Decode(b []byte) (*Group, error) {
	d := canon.Read(b)
	g := &Group{Code: d.Str(), Error: d.Str(), Rows: d.I64(), Iterations: d.Int(), TrainLoss: d.F64(), Converged: d.Bool()}
	for range d.Count(12) {
		g.Metrics = append(g.Metrics, family.Metric{Name: d.Str(), Value: d.F64()})
	}
	for range d.Count(4) {
		g.Classes = append(g.Classes, d.Strs())
	}
	if copy(g.SHA256[:], d.Bytes()) != len(g.SHA256) {
		d.Fail()
	}
	g.Model = d.Bytes()
	if d.Left() > 0 {
		g.Search = d.Bytes()
	}
	return g, d.Done("a trained group")
}

// KeyType returns the type that a column of this type has as a key: equal values of the types that a client may
// well confuse have equal keys. ok is false for types that cannot be keys.
func KeyType(t types.Type) (key types.Type, ok bool) {
	switch {
	case t.OID >= types.FirstUserOID && !t.IsArray(), t.IsString(), t.OID == types.UnknownOID, t.OID == types.BpcharOID: // an enum: its labels
		return types.Text, true
	case t.IsInteger():
		return types.Int8, true
	case t.OID == types.NumericOID:
		return types.Numeric, true
	case t.IsFloat():
		return types.Float8, true
	}
	switch t.OID {
	case types.BoolOID, types.DateOID, types.TimeOID, types.TimestampOID, types.TimestamptzOID, types.UUIDOID, types.IntervalOID:
		t.Mod = -1
		return t, true
	}
	return t, false
}
