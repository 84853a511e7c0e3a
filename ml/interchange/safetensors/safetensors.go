package safetensors

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is the format.
var Format = &interchange.Format{Name: "safetensors", Doc: "the numbers of linear models, components, nets and centroids, by name; linear models come in", Is: is, Write: write, Read: read}

const format = "safetensors"

// mostHeader is the format's own bound.
const mostHeader = 100 << 20

func is(b []byte) bool {
	return len(b) > 9 && b[8] == '{' && binary.LittleEndian.Uint64(b) <= min(mostHeader, uint64(len(b)-8))
}

func bad(why string, args ...any) error { return interchange.Damaged(format, why, args...) }

// entry is a tensor in the header.
type entry struct {
	Kind  string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    [2]int `json:"data_offsets"`
}

// tensors are written one after the other.
type tensors struct {
	header map[string]any // json.Marshal writes its keys in order
	data   []byte
}

func (t *tensors) f64(name string, v []float64, dims ...int) {
	from := len(t.data)
	for _, x := range v {
		t.data = binary.LittleEndian.AppendUint64(t.data, math.Float64bits(x))
	}
	t.header[name] = entry{"F64", dims, [2]int{from, len(t.data)}}
}

func (t *tensors) f32(name string, v []float32, dims ...int) {
	from := len(t.data)
	for _, x := range v {
		t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(x))
	}
	t.header[name] = entry{"F32", dims, [2]int{from, len(t.data)}}
}

func write(f *interchange.File) ([]byte, error) {
	s, err := interchange.ShapeOf(f.Model)
	if err != nil {
		return nil, err
	}
	t := &tensors{header: map[string]any{}}
	meta := map[string]string{"algorithm": f.Model.Algorithm, "task": string(f.Model.Task)}
	var names []string
	for _, slot := range f.Model.Fitted.Slots() {
		names = append(names, slot.Name)
	}
	put := func(key string, v any) {
		b, e := json.Marshal(v)
		if err == nil && e != nil {
			err = pgerr.Internal("a name has no JSON: %v", e)
		}
		meta[key] = string(b)
	}
	put("features", names)
	put("classes", f.Model.Classes())
	var e canon.E
	f.Model.Fitted.Encode(&e)
	meta["tributary.encoders"] = base64.StdEncoding.EncodeToString(e.B)
	switch s := s.(type) {
	case *shape.Linear:
		t.f64("weight", s.Weights, s.Outputs, len(s.Weights)/s.Outputs)
		t.f64("bias", s.Intercepts, s.Outputs)
		meta["tributary.link"] = strconv.Itoa(int(s.Link))
	case *shape.Centroids:
		t.f64("centroids", s.At, s.K, len(s.At)/s.K)
	case *shape.Layers:
		for k, x := range s.Embeddings {
			t.f32(fmt.Sprintf("embedding.%d", k), x.Vectors, len(x.Vectors)/max(1, x.Width), x.Width)
		}
		for k, l := range s.Layers {
			name := fmt.Sprintf("layer.%d.", k)
			switch l.Kind {
			case shape.Dense:
				t.f32(name+"weight", l.W, l.In, l.Out)
				t.f32(name+"bias", l.B, l.Out)
			case shape.Norm:
				t.f32(name+"weight", l.W, l.In)
				t.f32(name+"bias", l.B, l.In)
			case shape.Activation:
				meta[name+"activation"] = l.Function
			}
		}
		t.f64("output", []float64{s.Mean, s.Dev}, 2)
	default:
		return nil, pgerr.Unsupported("a model of %s is no list of tensors", f.Model.Algorithm).WithHint("The formats onnx, xgboost_json and lightgbm_text are for trees.")
	}
	if err != nil {
		return nil, err
	}
	t.header["__metadata__"] = meta
	head, err := json.Marshal(t.header)
	if err != nil {
		return nil, pgerr.Internal("a model has no header: %v", err)
	}
	for len(head)%8 != 0 { // so that the tensors are aligned
		head = append(head, ' ')
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return append(append(out, head...), t.data...), nil
}

func read(b []byte, o *interchange.Options) (*interchange.File, error) {
	if !is(b) {
		return nil, bad("its header is cut off")
	}
	n := int(binary.LittleEndian.Uint64(b))
	var header map[string]json.RawMessage
	if err := interchange.JSON(format, b[8:8+n], &header); err != nil {
		return nil, err
	}
	meta := map[string]string{}
	if raw := header["__metadata__"]; raw != nil {
		if err := interchange.JSON(format, raw, &meta); err != nil {
			return nil, err
		}
	}
	data := b[8+n:]
	weight, dims, err := tensor(header["weight"], data)
	if err == nil && weight == nil {
		err = interchange.Missing(format, []string{"a model without a tensor weight"})
	}
	if err != nil {
		return nil, err
	}
	if len(dims) == 1 {
		dims = []int{1, dims[0]}
	}
	if len(dims) != 2 || dims[0] < 1 || dims[1] < 1 {
		return nil, bad("weight is no matrix")
	}
	s := &shape.Linear{Outputs: dims[0], Weights: weight, Intercepts: make([]float64, dims[0])}
	bias, _, err := tensor(header["bias"], data)
	switch {
	case err != nil:
		return nil, err
	case bias != nil && len(bias) != dims[0]:
		return nil, bad("bias has %d numbers, weight %d rows", len(bias), dims[0])
	case bias != nil:
		s.Intercepts = bias
	}
	f, err := columns(meta, s, o)
	if err != nil {
		return nil, err
	}
	return interchange.Foreign(f, s)
}

// columns returns the encoders, which are in the metadata or the numbers as they are, and sets the link.
func columns(meta map[string]string, s *shape.Linear, o *interchange.Options) (*feature.Fitted, error) {
	width := len(s.Weights) / s.Outputs
	if text := meta["tributary.encoders"]; text != "" && o.Features == nil && o.Classes == nil {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, bad("its encoders are no base64")
		}
		d := canon.Read(raw)
		f := feature.DecodeFitted(d)
		if err := d.Done("encoders"); err != nil {
			return nil, err
		}
		link, err := strconv.Atoi(meta["tributary.link"])
		if err != nil || link < 0 || link > 255 || !shape.Link(link).Valid() || f.Params() != width {
			return nil, bad("its metadata do not fit its tensors")
		}
		s.Link = shape.Link(link)
		if o.Target != "" {
			f.Label.Name = o.Target
		}
		return f, nil
	}
	if err := o.CheckFeatures(width); err != nil {
		return nil, err
	}
	cols := &interchange.Columns{}
	for i := range width {
		cols.Number(o.Name(i, "x"+strconv.Itoa(i)))
	}
	classes := 0
	switch {
	case s.Outputs > 1:
		classes, s.Link = s.Outputs, shape.Softmax
	case o.Classes != nil:
		classes, s.Link = 2, shape.Logistic
	}
	return cols.Fitted(o, classes, false)
}

// tensor returns the numbers of a tensor; nil where it is not there.
func tensor(raw json.RawMessage, data []byte) (out []float64, dims []int, err error) {
	if raw == nil {
		return nil, nil, nil
	}
	var e entry
	if err := interchange.JSON(format, raw, &e); err != nil {
		return nil, nil, err
	}
	size := map[string]int{"F64": 8, "F32": 4}[e.Kind]
	if size == 0 {
		return nil, nil, interchange.Missing(format, []string{"tensors of " + e.Kind})
	}
	from, to := e.At[0], e.At[1]
	if from < 0 || to < from || to > len(data) || (to-from)%size != 0 {
		return nil, nil, bad("a tensor is not in the file")
	}
	n := 1
	for _, d := range e.Shape {
		if d < 0 || d > 0 && n > len(data)/d {
			return nil, nil, bad("a tensor is larger than the file")
		}
		n *= d
	}
	if n != (to-from)/size {
		return nil, nil, bad("a tensor has not as many numbers as its shape")
	}
	for b := data[from:to]; len(b) > 0; b = b[size:] {
		v := 0.0
		if size == 8 {
			v = math.Float64frombits(binary.LittleEndian.Uint64(b))
		} else {
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if v-v != 0 {
			return nil, nil, bad("a number is not finite")
		}
		out = append(out, v)
	}
	return out, e.Shape, nil
}
