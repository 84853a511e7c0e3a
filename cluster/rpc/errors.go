package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// UnreachableError says that a node did not answer: it may be down, or the
// network between. Whether it did what was asked is not known.
type UnreachableError struct {
	Addr string
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("node at %s is not reachable: %v", e.Addr, e.Err)
}

// Unwrap returns the error a client sees, and what gRPC or the node said.
func (e *UnreachableError) Unwrap() []error {
	return []error{pgerr.New(pgerr.ConnectionFailure, "node at %s is not reachable", e.Addr), e.Err}
}

// Unreachable reports whether err is of a node that did not answer.
func Unreachable(err error) bool {
	var u *UnreachableError
	return errors.As(err, &u)
}

// Refusal returns why the other end, or this one, refused the connection that a call
// needed; nil where the call failed for another reason.
func Refusal(err error) *pgerr.Error {
	var u *UnreachableError
	var no *pgerr.Error
	if errors.As(err, &u) && errors.As(u.Err, &no) {
		return no
	}
	return nil
}

const errorKey = "tributary-error-bin"

// wireError is the encoding of a *pgerr.Error.
type wireError struct {
	Code, Severity, Message, Detail, Hint, Where, Schema, Table, Column, DataType, Constraint string
	Position                                                                                  int
}

func wireOf(e *pgerr.Error) *wireError {
	return &wireError{Code: string(e.Code), Severity: string(e.Severity), Message: e.Message, Detail: e.Detail, Hint: e.Hint, Where: e.Where,
		Schema: e.Schema, Table: e.Table, Column: e.Column, DataType: e.DataType, Constraint: e.Constraint, Position: e.Position}
}

func (w *wireError) error() *pgerr.Error {
	return &pgerr.Error{Code: pgerr.Code(w.Code), Severity: pgerr.Severity(w.Severity), Message: w.Message, Detail: w.Detail, Hint: w.Hint,
		Where: w.Where, Schema: w.Schema, Table: w.Table, Column: w.Column, DataType: w.DataType, Constraint: w.Constraint, Position: w.Position}
}

// refusal returns the error of a handshake that the other end ended. That end is not
// authenticated: it may choose the text, but not the SQLSTATE that the error has here.
func (w *wireError) refusal() *pgerr.Error {
	e := w.error()
	if e.Code != pgerr.InvalidAuthorizationSpecification {
		e.Code = pgerr.ConnectionRejected
	}
	return e
}

// toWire returns the trailer and status that carry err.
func toWire(err error) (metadata.MD, error) {
	if err == nil {
		return nil, nil
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, status.FromContextError(context.Canceled).Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, status.FromContextError(context.DeadlineExceeded).Err()
	}
	return metadata.Pairs(errorKey, string(codec.Marshal(*wireOf(pgerr.From(err))))), status.Error(codes.Aborted, "statement error")
}

// asRefusal returns the refusal that a dial ended with, nil for none.
func asRefusal(err error) (no *pgerr.Error) {
	errors.As(err, &no)
	return no
}

func (c *client) fromWire(ctx context.Context, err error, trailer metadata.MD) error {
	return fromWire(ctx, c.addr, c.refused.Load(), err, trailer)
}

// fromWire returns the error that a call to the node at addr ended with; refused, if
// not nil, is why the last dial was refused.
func fromWire(ctx context.Context, addr string, refused *pgerr.Error, err error, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	if v := trailer.Get(errorKey); len(v) == 1 {
		if w, bad := codec.Unmarshal[wireError]([]byte(v[0])); bad == nil {
			return w.error()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch status.Code(err) {
	case codes.Canceled:
		// Not cancelled here: the other end went away or gave up.
		return &UnreachableError{Addr: addr, Err: err}
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Unavailable, codes.Unknown:
		if refused != nil {
			return &UnreachableError{Addr: addr, Err: refused}
		}
		return &UnreachableError{Addr: addr, Err: err}
	case codes.PermissionDenied:
		return pgerr.Wrap(pgerr.ConnectionRejected, err, "the node at %s takes no such call from this node", addr)
	case codes.ResourceExhausted:
		return pgerr.Wrap(pgerr.ProgramLimitExceeded, err, "a message between nodes is too large")
	case codes.Unimplemented:
		return pgerr.Wrap(pgerr.FeatureNotSupported, err, "the node at %s does not know this call", addr).
			WithHint("It may run another version.")
	}
	return pgerr.Wrap(pgerr.InternalError, err, "call to the node at %s failed", addr)
}
