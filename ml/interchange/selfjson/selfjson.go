package selfjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Format is the format.
var Format = &interchange.Format{Name: "json", Doc: "everything: any model, and the same model again, to its hash", Is: is, Write: write, Read: read}

// marker is what files say they are, in their first field.
const marker = "tributary model"

// version of the fields; another one is refused.
const version = 1

// file is the text. Its fields stand in this order.
type file struct {
	Format   string  `json:"format"`
	Version  int     `json:"version"`
	Name     string  `json:"name"`
	SHA256   string  `json:"sha256"`
	Model    about   `json:"model"`
	Encoders []coder `json:"encoders,omitempty"`
	// Predictor is for readers: nothing is read from it.
	Predictor json.RawMessage `json:"predictor,omitempty"`
	Bytes     []byte          `json:"bytes"` // canonical
}

// about is what the catalog says of a model and its bytes do not.
type about struct {
	Algorithm  string      `json:"algorithm"`
	Task       string      `json:"task"`
	Statement  string      `json:"statement"`
	Target     []string    `json:"target,omitempty"`
	TargetType *typ        `json:"target_type,omitempty"`
	Classes    []string    `json:"classes,omitempty"`
	More       []target    `json:"further_targets,omitempty"`
	Features   []column    `json:"features"`
	Inputs     []input     `json:"inputs,omitempty"`
	Outputs    []column    `json:"outputs"`
	Windows    *windows    `json:"windows,omitempty"`
	Options    []text      `json:"options,omitempty"`
	Beside     string      `json:"beside_target,omitempty"`
	Rows       int64       `json:"rows"`
	Iterations int         `json:"iterations"`
	TrainLoss  num         `json:"train_loss"`
	Converged  bool        `json:"converged"`
	Stopped    string      `json:"stopped,omitempty"`
	Seconds    num         `json:"seconds"`
	CreatedAt  time.Time   `json:"created_at"`
	Metrics    []value     `json:"metrics,omitempty"`
	Folds      []fold      `json:"folds,omitempty"`
	Warnings   []warning   `json:"warnings,omitempty"`
	History    []iteration `json:"history,omitempty"`
}

type (
	typ struct {
		Name  string `json:"name"`
		OID   uint32 `json:"oid"`
		Mod   int32  `json:"mod"`
		Prec  uint8  `json:"prec,omitempty"`
		Scale uint8  `json:"scale,omitempty"`
	}
	column struct {
		Name string `json:"name"`
		Type typ    `json:"type"`
	}
	input struct {
		Name string `json:"name"`
		Type typ    `json:"type"`
		Expr string `json:"expression"`
	}
	target struct {
		Type    typ      `json:"type"`
		Classes []string `json:"classes,omitempty"`
	}
	windows struct {
		PartitionBy []column `json:"partition_by"`
		OrderBy     []column `json:"order_by"`
		Length      int      `json:"length"`
		Stride      int      `json:"stride"`
	}
	text struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	value struct {
		Name  string `json:"name"`
		Value num    `json:"value"`
	}
	fold struct {
		Rows       int64   `json:"rows"`
		Held       int64   `json:"held"`
		Iterations int     `json:"iterations"`
		Seconds    num     `json:"seconds"`
		Metrics    []value `json:"metrics"`
	}
	warning struct {
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	iteration struct {
		Number         int `json:"iteration"`
		TrainLoss      num `json:"train_loss"`
		ValidationLoss num `json:"validation_loss"`
		Seconds        num `json:"seconds"`
	}
	// coder describes a fitted encoder to readers.
	coder struct {
		Column     string   `json:"column"`
		Encoder    string   `json:"encoder"`
		Center     []num    `json:"center,omitempty"`
		Scale      []num    `json:"scale,omitempty"`
		Fill       *num     `json:"fill,omitempty"`
		Indicator  bool     `json:"null_indicator,omitempty"`
		Categories []string `json:"categories,omitempty"`
		NullSlot   bool     `json:"null_category,omitempty"`
		Bounds     []num    `json:"bounds,omitempty"`
	}
)

// num is a number of which JSON has no spelling where it is not finite: those are strings.
type num float64

// MarshalJSON implements json.Marshaler.
func (n num) MarshalJSON() ([]byte, error) {
	if f := float64(n); f-f != 0 {
		return []byte(strconv.Quote(strconv.FormatFloat(f, 'g', -1, 64))), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *num) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	*n = num(f)
	return err
}

func nums(v []float64) (out []num) {
	for _, f := range v {
		out = append(out, num(f))
	}
	return out
}

// is looks for the marker near the beginning.
func is(b []byte) bool {
	head := b[:min(len(b), 200)]
	return len(head) > 0 && head[0] == '{' && bytes.Contains(head, []byte(strconv.Quote(marker)))
}

func typeOf(t types.Type) typ {
	return typ{Name: t.String(), OID: uint32(t.OID), Mod: t.Mod, Prec: t.Prec, Scale: t.Scale}
}

func (t typ) sql() types.Type {
	return types.Type{OID: types.OID(t.OID), Mod: t.Mod, Prec: t.Prec, Scale: t.Scale}
}

func columns(list []catalog.ModelFeature) (out []column) {
	for _, f := range list {
		out = append(out, column{f.Name, typeOf(f.Type)})
	}
	return out
}

func features(list []column) (out []catalog.ModelFeature) {
	for _, c := range list {
		out = append(out, catalog.ModelFeature{Name: c.Name, Type: c.Type.sql()})
	}
	return out
}

func values(list []catalog.NamedValue) (out []value) {
	for _, m := range list {
		out = append(out, value{m.Name, num(m.Value)})
	}
	return out
}

func named(list []value) (out []catalog.NamedValue) {
	for _, m := range list {
		out = append(out, catalog.NamedValue{Name: m.Name, Value: float64(m.Value)})
	}
	return out
}

func write(f *interchange.File) ([]byte, error) {
	v := f.Version
	sum := sha256.Sum256(f.Canonical)
	out := file{Format: marker, Version: version, Name: f.Name, SHA256: hex.EncodeToString(sum[:]), Bytes: f.Canonical, Encoders: coders(f.Model.Fitted),
		Model: about{Algorithm: v.Algorithm, Task: v.Task, Statement: v.Statement, Target: v.Target, Classes: v.Classes, Features: columns(v.Features),
			Outputs: columns(v.Outputs), Rows: v.Rows, Iterations: v.Iterations, TrainLoss: num(v.TrainLoss), Converged: v.Converged, Stopped: v.Stopped,
			Seconds: num(v.Seconds), CreatedAt: v.CreatedAt, Metrics: values(v.Metrics), Beside: v.Beside}}
	a := &out.Model
	if len(v.Target) > 0 {
		t := typeOf(v.TargetType)
		a.TargetType = &t
	}
	for _, m := range v.More {
		a.More = append(a.More, target{typeOf(m.Type), m.Classes})
	}
	for _, in := range v.Inputs {
		a.Inputs = append(a.Inputs, input{in.Name, typeOf(in.Type), in.Expr})
	}
	if w := v.Windows; w != nil {
		a.Windows = &windows{columns(w.PartitionBy), columns(w.OrderBy), w.Length, w.Stride}
	}
	for _, o := range v.Options {
		a.Options = append(a.Options, text(o))
	}
	for _, k := range v.Folds {
		a.Folds = append(a.Folds, fold{k.Rows, k.Held, k.Iterations, num(k.Seconds), values(k.Metrics)})
	}
	for _, w := range v.Warnings {
		a.Warnings = append(a.Warnings, warning(w))
	}
	for _, h := range v.History {
		a.History = append(a.History, iteration{h.Number, num(h.TrainLoss), num(h.ValidationLoss), num(h.Seconds)})
	}
	if s, err := interchange.ShapeOf(f.Model); err == nil {
		out.Predictor = describe(s)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&out); err != nil {
		return nil, pgerr.Internal("a model has no JSON: %v", err)
	}
	return b.Bytes(), nil
}

// describe returns a shape for readers; nil where its numbers are not all finite.
func describe(s shape.Shape) json.RawMessage {
	kind := ""
	switch s.(type) {
	case *shape.Linear:
		kind = "linear"
	case *shape.Trees:
		kind = "trees"
	case *shape.Layers:
		kind = "layers"
	case *shape.Centroids:
		kind = "centroids"
	default:
		return nil
	}
	b, err := json.Marshal(map[string]any{kind: s})
	if err != nil {
		return nil
	}
	return b
}

func coders(f *feature.Fitted) (out []coder) {
	for i := range f.Cols {
		c := &f.Cols[i]
		o := coder{Column: c.Name, Encoder: c.Encoder.String(), Center: nums(c.Center), Scale: nums(c.Scale), Indicator: c.Indicator, NullSlot: c.NullSlot, Bounds: nums(c.Bounds)}
		if c.Type.IsNumber() && c.Cats == nil {
			fill := num(c.Fill)
			o.Fill = &fill
		}
		for _, k := range c.Cats {
			o.Categories = append(o.Categories, feature.KeyText(c.Type, k))
		}
		out = append(out, o)
	}
	return out
}

func read(b []byte, o *interchange.Options) (*interchange.File, error) {
	if o.Features != nil || o.Classes != nil || o.Target != "" {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a json file names its features, classes and target itself")
	}
	var in file
	if err := interchange.JSON("json", b, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Format != marker:
		return nil, interchange.Damaged("json", "it is not of a model of ours")
	case in.Version != version:
		return nil, pgerr.Unsupported("version %d of the json format is not supported", in.Version)
	}
	if sum := sha256.Sum256(in.Bytes); hex.EncodeToString(sum[:]) != in.SHA256 {
		return nil, interchange.Damaged("json", "the bytes are not those of the hash")
	}
	m, err := model.Decode(in.Bytes)
	if err != nil {
		return nil, err
	}
	f := &interchange.File{Name: in.Name, Model: m, Canonical: in.Bytes, Version: in.Model.version()}
	return f, check(f)
}

// version returns the catalog's description.
func (a *about) version() *catalog.ModelVersion {
	v := &catalog.ModelVersion{Algorithm: a.Algorithm, Task: a.Task, Statement: a.Statement, Target: a.Target, Classes: a.Classes, Features: features(a.Features),
		Outputs: features(a.Outputs), Rows: a.Rows, Iterations: a.Iterations, TrainLoss: float64(a.TrainLoss), Converged: a.Converged, Stopped: a.Stopped,
		Seconds: float64(a.Seconds), CreatedAt: a.CreatedAt, Metrics: named(a.Metrics), Beside: a.Beside}
	if a.TargetType != nil {
		v.TargetType = a.TargetType.sql()
	}
	for _, m := range a.More {
		v.More = append(v.More, catalog.ModelTarget{Type: m.Type.sql(), Classes: m.Classes})
	}
	for _, in := range a.Inputs {
		v.Inputs = append(v.Inputs, catalog.ModelInput{Name: in.Name, Type: in.Type.sql(), Expr: in.Expr})
	}
	if w := a.Windows; w != nil {
		v.Windows = &catalog.ModelWindows{PartitionBy: features(w.PartitionBy), OrderBy: features(w.OrderBy), Length: w.Length, Stride: w.Stride}
	}
	for _, o := range a.Options {
		v.Options = append(v.Options, catalog.NamedText(o))
	}
	for _, k := range a.Folds {
		v.Folds = append(v.Folds, catalog.ModelFold{Rows: k.Rows, Held: k.Held, Iterations: k.Iterations, Seconds: float64(k.Seconds), Metrics: named(k.Metrics)})
	}
	for _, w := range a.Warnings {
		v.Warnings = append(v.Warnings, catalog.ModelWarning(w))
	}
	for _, h := range a.History {
		v.History = append(v.History, catalog.Iteration{Number: h.Number, TrainLoss: float64(h.TrainLoss), ValidationLoss: float64(h.ValidationLoss), Seconds: float64(h.Seconds)})
	}
	return v
}

// check returns an error where what the file says of the model is not what its bytes say: the binder
// goes by the one, predictions by the other.
func check(f *interchange.File) error {
	v, m := f.Version, f.Model
	want := interchange.Describe(m)
	given := v.Features
	if v.Inputs != nil {
		given = nil
		for _, in := range v.Inputs {
			given = append(given, catalog.ModelFeature{Name: in.Name, Type: in.Type})
		}
	}
	same := func(a, b []catalog.ModelFeature) bool {
		return slices.EqualFunc(a, b, func(a, b catalog.ModelFeature) bool {
			a.Type.Mod, b.Type.Mod = -1, -1
			return a == b
		})
	}
	ok := v.Algorithm == want.Algorithm && v.Task == want.Task && same(given, want.Features) && same(v.Outputs, want.Outputs) &&
		slices.Equal(v.Target, want.Target) && slices.Equal(v.Classes, want.Classes) && len(v.More) == len(want.More) && (v.Windows == nil) == (want.Windows == nil)
	for i := range want.More {
		ok = ok && slices.Equal(v.More[i].Classes, want.More[i].Classes) && v.More[i].Type.OID == want.More[i].Type.OID
	}
	if ok && want.Windows != nil {
		ok = same(v.Windows.PartitionBy, want.Windows.PartitionBy) && same(v.Windows.OrderBy, want.Windows.OrderBy) &&
			v.Windows.Length == want.Windows.Length && v.Windows.Stride == want.Windows.Stride
	}
	if !ok || v.TargetType.OID != want.TargetType.OID {
		return interchange.Damaged("json", "what it says of the model is not what its bytes say")
	}
	if v.Rows < 0 || v.Iterations < 0 || math.IsNaN(v.Seconds) {
		return interchange.Damaged("json", "a number is not possible")
	}
	return nil
}
