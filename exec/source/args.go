package source

import (
	"context"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Reader is who reads files.
type Reader struct {
	Role   types.OID
	Server bool     // may read those of the server's disks
	Shared []string // directories that are at the same paths on all nodes
}

// args reads the arguments of one call. The first error sticks.
type args struct {
	fn     string
	list   []plan.Arg
	ctx    context.Context
	stores *object.Stores
	reader Reader
	err    error
}

// names sets the names of the arguments, in the order of positional ones. It refuses all others. An
// argument may have synonyms, which follow its own name: "delim|sep".
func (a *args) names(list ...string) bool {
	names, called := make([]string, len(list)), map[string]string{}
	for i, n := range list {
		all := strings.Split(n, "|")
		names[i] = all[0]
		for _, s := range all {
			called[s] = all[0]
		}
	}
	seen := map[string]bool{}
	for i := range a.list {
		p := &a.list[i]
		name := strings.ToLower(p.Name)
		if name == "" {
			if i >= len(names) {
				a.err = pgerr.New(pgerr.UndefinedFunction, "function %s takes at most %d arguments", a.fn, len(names))
				return false
			}
			name = names[i]
		}
		given := name
		name, known := called[name]
		switch {
		case p.Call != "" && name != matrixArg:
			a.err = pgerr.Unsupported("argument %q of %s cannot be a call of %s", given, a.fn, p.Call)
			return false
		case !known:
			a.err = pgerr.New(pgerr.InvalidParameterValue, "function %s has no argument named %q", a.fn, given).
				WithHint("Its arguments are: %s.", strings.Join(names, ", "))
			return false
		case seen[name]:
			a.err = pgerr.New(pgerr.SyntaxError, "argument name %q used more than once", given)
			return false
		}
		seen[name] = true
	}
	// A copy: the plan's own list is shared.
	own := append([]plan.Arg(nil), a.list...)
	for i := range own {
		if own[i].Name == "" {
			own[i].Name = names[i]
		}
		own[i].Name = called[strings.ToLower(own[i].Name)]
	}
	a.list = own
	return true
}

// get finds an argument; one that is NULL counts as not given.
func (a *args) get(name string) (types.Datum, bool) {
	for _, p := range a.list {
		if p.Name == name && p.Val != nil {
			return p.Val, true
		}
	}
	return nil, false
}

func (a *args) bad(name, format string, more ...any) {
	if a.err == nil {
		a.err = pgerr.New(pgerr.InvalidParameterValue, "argument %q of %s "+format, append([]any{name, a.fn}, more...)...)
	}
}

func toInt(d types.Datum) (int64, bool) {
	switch d := d.(type) {
	case int64:
		return d, true
	case number.Decimal:
		return d.Int64()
	case float64:
		return int64(d), d == float64(int64(d))
	}
	return 0, false
}

func (a *args) int(name string, def, lo, hi int64) int64 {
	d, ok := a.get(name)
	if !ok {
		return def
	}
	n, ok := toInt(d)
	if !ok {
		a.bad(name, "must be an integer")
		return def
	}
	if n < lo || n > hi {
		a.bad(name, "must be between %d and %d", lo, hi)
		return def
	}
	return n
}

func (a *args) float(name string, def float64) float64 {
	d, ok := a.get(name)
	if !ok {
		return def
	}
	f, ok := types.Float(d)
	if !ok || f != f {
		a.bad(name, "must be a number")
		return def
	}
	return f
}

func (a *args) bool(name string, def bool) bool {
	d, ok := a.get(name)
	if !ok {
		return def
	}
	b, ok := d.(bool)
	if !ok {
		a.bad(name, "must be boolean")
	}
	return b
}

func (a *args) text(name, def string) string {
	d, ok := a.get(name)
	if !ok {
		return def
	}
	s, ok := d.(string)
	if !ok {
		a.bad(name, "must be text")
	}
	return s
}

// files returns the files that the argument "path" names, which must be given.
func (a *args) files() ([]file, error) {
	paths := a.texts("path")
	if paths == nil && a.err == nil {
		a.bad("path", "is missing")
	}
	if a.err != nil {
		return nil, a.err
	}
	files, err := a.expand(paths)
	if err != nil {
		return nil, err
	}
	packed := a.choice("compression", "auto", "auto", "none", "gzip", "zstd")
	var cs *charset.Charset
	if name := a.text("encoding", ""); name != "" {
		var known bool
		if cs, _, known, err = charset.Find(name); !known {
			a.bad("encoding", "must be the name of an encoding, as client_encoding takes it")
		} else if err != nil {
			return nil, err
		}
	}
	for i := range files {
		f := &files[i]
		if f.charset = cs; packed != "auto" {
			f.packing = packed
		}
		if cs != nil || packed != "auto" {
			f.key += "\x00" + packed + a.text("encoding", "")
		}
	}
	return files, a.err
}

// expand finds the files that patterns name: those of one pattern by name, the
// patterns in their order.
func (a *args) expand(patterns []string) ([]file, error) {
	var out []file
	for _, p := range patterns {
		if !object.Remote(p) && !a.reader.Server {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be superuser or have privileges of the pg_read_server_files role to read files with %s", a.fn)
		}
		store, err := a.stores.For(a.reader.Role, p, false)
		if err != nil {
			return nil, err
		}
		found := len(out)
		for f, err := range object.Find(a.ctx, store, p) {
			if err != nil {
				return nil, err
			}
			out = append(out, file{store: store, info: f, path: f.Name, size: f.Size, packing: copyfmt.Packing(f.Name),
				key: f.Place + f.Name + "\x00" + strconv.FormatInt(f.Size, 10) + "\x00" + f.Version})
		}
		if len(out) == found {
			return nil, pgerr.New(pgerr.UndefinedFile, "no files match the pattern %q", strings.TrimPrefix(p, "file://"))
		}
	}
	if len(out) == 0 {
		return nil, pgerr.New(pgerr.UndefinedFile, "no files are given")
	}
	return out, nil
}

// texts reads a text or an array of them.
func (a *args) texts(name string) []string {
	d, ok := a.get(name)
	if !ok {
		return nil
	}
	switch d := d.(type) {
	case string:
		return []string{d}
	case types.Array:
		out := []string{}
		for _, e := range d.Elems {
			s, ok := e.(string)
			if !ok {
				a.bad(name, "must be text or an array of texts")
				return nil
			}
			out = append(out, s)
		}
		return out
	}
	a.bad(name, "must be text or an array of texts")
	return nil
}

// floats reads a number or an array of them.
func (a *args) floats(name string) []float64 {
	d, ok := a.get(name)
	if !ok {
		return nil
	}
	if f, ok := types.Float(d); ok {
		return []float64{f}
	}
	arr, ok := d.(types.Array)
	out := []float64{}
	for _, e := range arr.Elems {
		f, isNum := types.Float(e)
		ok = ok && isNum
		out = append(out, f)
	}
	if !ok {
		a.bad(name, "must be a number or an array of numbers")
		return nil
	}
	return out
}

func (a *args) choice(name, def string, all ...string) string {
	s := strings.ToLower(a.text(name, def))
	for _, c := range all {
		if s == c {
			return s
		}
	}
	a.bad(name, "must be one of %s", strings.Join(all, ", "))
	return def
}

// seed returns the argument random_state or seed.
func (a *args) seed(name string) uint64 { return uint64(a.int(name, 0, -1<<63, 1<<63-1)) }

// dtype returns the type of generated columns.
func (a *args) dtype() types.Type {
	switch a.choice("dtype", "float8", "float8", "float4", "float64", "float32", "double precision", "real") {
	case "float4", "float32", "real":
		return types.Float4
	}
	return types.Float8
}
