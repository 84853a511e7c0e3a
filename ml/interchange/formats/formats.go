package formats

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/interchange/lightgbm"
	"github.com/tributarydb/tributary/ml/interchange/onnx"
	"github.com/tributarydb/tributary/ml/interchange/pmml"
	"github.com/tributarydb/tributary/ml/interchange/safetensors"
	"github.com/tributarydb/tributary/ml/interchange/selfjson"
	"github.com/tributarydb/tributary/ml/interchange/xgboost"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// All lists the formats, in the order of the manual.
var All = []*interchange.Format{selfjson.Format, onnx.Format, xgboost.Format, lightgbm.Format, safetensors.Format, pmml.Format}

// find returns a format by its name.
func find(name string) *interchange.Format {
	for _, f := range All {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// names of the formats that can be written, or read.
func names(has func(*interchange.Format) bool) (out []string) {
	for _, f := range All {
		if has(f) {
			out = append(out, f.Name)
		}
	}
	return out
}

func writes(f *interchange.Format) bool { return f.Write != nil }
func reads(f *interchange.Format) bool  { return f.Read != nil }

// ExportOptions and ImportOptions are the options of the statements.
var (
	ExportOptions = []*family.Option{format(writes)}
	ImportOptions = []*family.Option{format(reads),
		{Names: []string{"replace"}, Type: "boolean", Default: "`false`", Doc: "A new version of the model, if it is there.", Read: family.Boolean},
		{Names: []string{"target"}, Type: "text", Doc: "What the model predicts, where the file does not say.", Read: name},
		{Names: []string{"features"}, Type: "list", Doc: "The columns of the features, in the file's order.", Read: list},
		{Names: []string{"classes"}, Type: "list", Doc: "The classes, where the file has their numbers alone.", Read: list},
	}
)

func format(has func(*interchange.Format) bool) *family.Option {
	return &family.Option{Names: []string{"format"}, Type: "text", Doc: "The format of the file.", Read: func(v family.Value) (any, error) {
		if f := find(v.Word()); f != nil && !has(f) { // none is read and not written
			return nil, notRead(f).At(v.Pos)
		}
		return family.Word(names(has)...)(v)
	}}
}

// notRead is the error for a format that is only written.
func notRead(f *interchange.Format) *pgerr.Error {
	return pgerr.Unsupported("%s files are written but not read", f.Name).WithHint("The formats of IMPORT are %s.", strings.Join(names(reads), ", "))
}

func name(v family.Value) (any, error) {
	if s, ok := v.Value.(string); ok && s != "" {
		return s, nil
	}
	return nil, v.Bad("a name")
}

func list(v family.Value) (any, error) {
	if s, ok := v.Value.(string); ok && s != "" {
		return []string{s}, nil
	}
	a, ok := v.Value.(types.Array)
	var out []string
	for _, d := range a.Elems {
		s, text := d.(string)
		if i, number := d.(int64); number {
			s, text = strconv.FormatInt(i, 10), true
		}
		ok = ok && text
		out = append(out, s)
	}
	if !ok || out == nil {
		return nil, v.Bad("a list of names")
	}
	return out, nil
}

// Check reads a statement's options.
func Check(args []family.Arg, defs []*family.Option) (*family.Values, error) {
	for _, a := range args {
		if family.Find(defs, a.Name) == nil {
			var known []string
			for _, d := range defs {
				known = append(known, d.Names[0])
			}
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized option %q", a.Name).At(a.Pos).WithHint("Options are %s.", strings.Join(known, ", "))
		}
	}
	return family.Read(args, defs)
}

// Write writes a file in the format of the options, which is json unless they say another.
func Write(f *interchange.File, o *family.Values) ([]byte, error) {
	return find(o.Text("format", "json")).Write(f)
}

// Read reads a file in the format of the options, or that the bytes are of.
func Read(b []byte, o *family.Values) (*interchange.File, error) {
	f := find(o.Text("format", ""))
	for i := 0; f == nil && i < len(All); i++ {
		if All[i].Is(b) {
			f = All[i]
		}
	}
	if f == nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the bytes are of no format of model files that is known").
			WithHint("The formats are %s; the option format says which it is.", strings.Join(names(reads), ", "))
	}
	if f.Read == nil {
		return nil, notRead(f)
	}
	opts := &interchange.Options{Target: o.Text("target", ""), Features: o.Texts("features", nil), Classes: o.Texts("classes", nil)}
	out, err := f.Read(b, opts)
	if err != nil {
		return nil, err
	}
	if out.Canonical == nil {
		out.Canonical = out.Model.Encode()
	}
	if out.Version == nil {
		out.Version = interchange.Describe(out.Model)
	}
	return out, nil
}
