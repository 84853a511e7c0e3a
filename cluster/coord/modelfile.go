package coord

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/tributarydb/tributary/cluster/copydata"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// mayUse returns an error where a statement's role may not use a model.
func mayUse(x *session.Execution, st *catalog.State, m *catalog.Model) error {
	if !st.May(x.Caller.Role, m.Object(), 'U') {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for model %s", m.Name)
	}
	return nil
}

// exportModel handles EXPORT MODEL.
func exportModel(c *dispatcher, n *parse.ExportModel) (*session.Command, error) {
	if err := onlyFile(n.URI); err != nil {
		return nil, err
	}
	const tag = "EXPORT MODEL"
	return &session.Command{Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		m, err := c.findModel(st, n.Name)
		if err == nil {
			err = mayUse(x, st, m)
		}
		if err != nil {
			return nil, err
		}
		acct := x.Pool.Account("model export", false)
		b, err := c.trainings.Export(x.Ctx, n, x.Caller.Role, st, m, acct)
		if err != nil {
			acct.Close()
			return nil, err
		}
		if n.URI == "" {
			return &session.Result{Copy: copydata.ToClient(b, tag, acct.Close), Tag: func() string { return tag }}, nil
		}
		defer acct.Close()
		f, err := copydata.CreateFile(x.Statement, st, n.URI, acct)
		if err != nil {
			return nil, err
		}
		if _, err = f.Write(b); err != nil {
			f.Abort()
			return nil, err
		}
		return session.Done(tag), f.Commit()
	}}, nil
}

// importModel handles IMPORT MODEL.
func importModel(c *dispatcher, text *parse.Statement, n *parse.ImportModel) (*session.Command, error) {
	data, inline := strings.CutPrefix(n.URI, dataURI)
	if !inline {
		if err := onlyFile(n.URI); err != nil {
			return nil, err
		}
	}
	const tag = "IMPORT MODEL"
	return &session.Command{Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		if err := x.Txn.Writable(tag); err != nil {
			return nil, err
		}
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		if err := c.trainings.MayImport(n, x.Caller, st); err != nil {
			return nil, err
		}
		x.Enter(st)
		acct := x.Pool.Account("model import", false)
		take := func(r io.Reader) error {
			b, err := readAll(r, acct)
			if err != nil {
				return err
			}
			ch, _, release, err := c.trainings.Import(x.Ctx, n, text, x.Caller, st, b, acct)
			if err != nil {
				return err
			}
			defer release()
			x.Txn.Wrote(catalog.Files([]catalog.Change{ch})...)
			_, err = x.Txn.Add(ch)
			return err
		}
		if n.URI == "" {
			s := copydata.FromClient(x.Ctx, tag, take, acct.Close)
			return &session.Result{Copy: s, Tag: s.Tag}, nil
		}
		defer acct.Close()
		if inline {
			err = take(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
			return session.Done(tag), err
		}
		f, err := copydata.OpenFile(x.Statement, st, n.URI)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return session.Done(tag), take(f)
	}}, nil
}

// dataURI begins a file that stands in the statement itself (RFC 2397).
const dataURI = "data:;base64,"

// onlyFile refuses what is neither a file of the server nor an object in a bucket.
func onlyFile(uri string) error {
	if object.Remote(uri) && !strings.HasPrefix(uri, object.S3) || strings.HasPrefix(uri, "data:") {
		return pgerr.Unsupported("models are written to and read from files of the server, s3://bucket/key, STDOUT and STDIN").
			WithHint("Send the model to the client, and from there to where it is to be.")
	}
	return nil
}

// readAll reads a file of a model, charged as it comes, so that it is no larger than it may be.
func readAll(r io.Reader, acct *mem.Account) ([]byte, error) {
	var out []byte
	for {
		if len(out) == cap(out) {
			more := max(64<<10, 2*cap(out))
			if more > interchange.MostBytes {
				return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the file of a model is larger than %d MiB", interchange.MostBytes>>20)
			}
			if err := acct.Grow(int64(more)); err != nil {
				return nil, err
			}
			grown := make([]byte, len(out), more)
			copy(grown, out)
			out = grown
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			if pgerr.CodeOf(err) == pgerr.InternalError {
				return nil, pgerr.Wrap(pgerr.InvalidBinaryRepresentation, err, "could not read a model")
			}
			return nil, err
		}
	}
}
