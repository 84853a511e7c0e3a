package training

import (
	"context"
	"io"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/interchange/formats"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// modelMemory is what a model takes while it is written or read, in times of its bytes: decoded, as a
// shape, and as the text or message of the format.
const modelMemory = 16

// options checks the options of EXPORT and IMPORT.
func options(list []parse.Option, defs []*family.Option) (*family.Values, error) {
	args, err := Statement{TrainModel: &parse.TrainModel{Options: list}}.arguments()
	if err != nil {
		return nil, err
	}
	return formats.Check(args, defs)
}

// Export returns a model in the format that the statement asks for, with the statement that trained it if the role may
// see it. The account is charged for the bytes.
func (j *Jobs) Export(ctx context.Context, n *parse.ExportModel, role types.OID, st *catalog.State, m *catalog.Model, acct *mem.Account) ([]byte, error) {
	o, err := options(n.Options, formats.ExportOptions)
	if err != nil {
		return nil, err
	}
	v, err := m.Want(int(n.Version))
	if err != nil {
		return nil, err
	}
	if v.Groups != nil {
		return nil, pgerr.Unsupported("model %q has one model a group, which no format holds", m.Name).
			WithHint("Train a model of the rows of one group, which is the same as the group's, and export that; BACKUP MODEL keeps them all.")
	}
	if !st.Inherits(role, m.Owner) {
		shared := *v
		shared.Statement, shared.Origin = "", nil
		v = &shared
	}
	var out []byte
	err = j.cfg.Blobs.Read(ctx, v.Blob(), func(b []byte) error {
		if err := acct.Grow(modelMemory * int64(len(b))); err != nil {
			return err
		}
		dec, err := model.DecodeWithin(b, acct.Grow)
		if err != nil {
			return err
		}
		out, err = formats.Write(&interchange.File{Name: m.Name, Model: dec, Canonical: b, Version: v}, o)
		return err
	})
	return out, err
}

// MayImport returns an error for a statement that will fail whatever the file has: for its options, its name,
// or who runs it.
func (j *Jobs) MayImport(n *parse.ImportModel, c *query.Caller, st *catalog.State) error {
	o, err := options(n.Options, formats.ImportOptions)
	if err == nil {
		_, _, err = importPlace(n, o).place(c, st)
	}
	return err
}

// Import makes a model of a file's bytes, as a change of the catalog. The caller must call release when the
// change is committed, or will not be.
func (j *Jobs) Import(ctx context.Context, n *parse.ImportModel, text *parse.Statement, c *query.Caller, st *catalog.State, b []byte, acct *mem.Account) (ch catalog.Change, v *catalog.ModelVersion, release func(), err error) {
	o, err := options(n.Options, formats.ImportOptions)
	if err != nil {
		return nil, nil, nil, err
	}
	schema, old, err := importPlace(n, o).place(c, st)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := acct.Grow(modelMemory*int64(len(b)) + 3*interchange.Room); err != nil {
		return nil, nil, nil, err
	}
	f, err := formats.Read(b, o)
	if err != nil {
		return nil, nil, nil, err
	}
	v = f.Version
	if err := j.checkImported(ctx, v, text, c, st); err != nil {
		return nil, nil, nil, err
	}
	v.Number = 1
	if v.CreatedAt.IsZero() {
		v.CreatedAt = time.Now().UTC()
	}
	if v.Statement == "" {
		v.Statement = text.Text
	}
	if v.Stopped == "" {
		v.Converged, v.Stopped = true, "imported"
	}
	release = j.cfg.Blobs.Hold()
	defer func() {
		if err != nil {
			release()
		}
	}()
	blob, err := j.cfg.Blobs.Put(ctx, func(w io.Writer) error {
		_, err := w.Write(f.Canonical)
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	v.Keep(blob)
	if ch, err = j.put(ctx, schema, n.Name[len(n.Name)-1], c.Role, old, v); err != nil {
		return nil, nil, nil, err
	}
	return ch, v, release, nil
}

// importPlace is the statement that would train a model of that name.
func importPlace(n *parse.ImportModel, o *family.Values) Statement {
	return Statement{TrainModel: &parse.TrainModel{Name: n.Name, NamePos: n.NamePos, OrReplace: o.Bool("replace", false)}}
}

// checkImported checks what a file says that the binder will go by: names of columns, types, and the
// expressions of a TRANSFORM, which must be what a training would have taken.
func (j *Jobs) checkImported(ctx context.Context, v *catalog.ModelVersion, text *parse.Statement, c *query.Caller, st *catalog.State) error {
	own := func(t types.Type) error {
		if t.OID >= types.FirstUserOID {
			return pgerr.Unsupported("a model with columns of types that another database has defined cannot be imported")
		}
		return nil
	}
	seen := map[string]bool{}
	for _, f := range v.Features {
		if seen[f.Name] || f.Name == "" {
			return pgerr.New(pgerr.DuplicateColumn, "feature %q is there twice in the model", f.Name).WithHint("The option features names them.")
		}
		seen[f.Name] = true
		if err := own(f.Type); err != nil {
			return err
		}
	}
	if err := own(v.TargetType); err != nil {
		return err
	}
	for _, in := range v.Inputs {
		n, err := typing.ParseExpr(in.Expr)
		if err != nil {
			return err
		}
		if _, err := bind.Derive(j.cfg.Queries.Binding(c.With(nil, nil), st, text, query.Poll(ctx)), n, v.Features); err != nil {
			return pgerr.From(err).At(0)
		}
	}
	return nil
}
