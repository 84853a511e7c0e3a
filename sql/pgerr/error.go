package pgerr

import (
	"context"
	"errors"
	"fmt"
)

// Error is an error as the Postgres protocol reports it. The zero Position
// means "no position"; otherwise it counts characters (not bytes) from 1 in
// the statement's text, as the protocol's field P does.
type Error struct {
	Code       Code
	Severity   Severity
	Message    string
	Detail     string
	Hint       string
	Position   int
	Where      string
	Schema     string
	Table      string
	Column     string
	DataType   string
	Constraint string

	cause error
}

// Severity is the protocol's field S/V. The zero value means ERROR.
type Severity string

// The severities a server sends.
const (
	SevError   Severity = "ERROR"
	SevFatal   Severity = "FATAL"
	SevWarning Severity = "WARNING"
	SevNotice  Severity = "NOTICE"
	SevInfo    Severity = "INFO"
)

// New makes an error of severity ERROR.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Severity: SevError, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an error with a cause that errors.Is and errors.As can reach.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.cause = cause
	return e
}

// Unsupported is the explicit refusal (0A000) of a feature.
func Unsupported(format string, args ...any) *Error {
	return New(FeatureNotSupported, format, args...)
}

// Internal is a broken invariant (XX000): a bug of ours, never an input error.
func Internal(format string, args ...any) *Error {
	return New(InternalError, format, args...)
}

// Error implements error.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// WithDetail sets the detail and returns e, for chaining at the place of New.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At sets the position (characters from 1; 0 for none) and returns e.
func (e *Error) At(position int) *Error {
	e.Position = position
	return e
}

// WithSeverity sets the severity and returns e.
func (e *Error) WithSeverity(s Severity) *Error {
	e.Severity = s
	return e
}

// OnTable names the table the error is about and returns e.
func (e *Error) OnTable(schema, table string) *Error {
	e.Schema, e.Table = schema, table
	return e
}

// OnColumn names the column the error is about and returns e.
func (e *Error) OnColumn(column string) *Error {
	e.Column = column
	return e
}

// OnConstraint names the constraint the error is about and returns e.
func (e *Error) OnConstraint(name string) *Error {
	e.Constraint = name
	return e
}

// From finds the *Error in err's chain. A cancelled context becomes 57014,
// a deadline 08006; any other error is XX000 with the error's text. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		// statement_timeout has an error of its own: a deadline is that of a wait for another node.
		return Wrap(ConnectionFailure, err, "another node did not answer in time")
	case errors.Is(err, context.Canceled):
		return Wrap(QueryCanceled, err, "canceling statement due to user request")
	}
	return &Error{Code: InternalError, Severity: SevError, Message: err.Error()}
}

// CodeOf returns the SQLSTATE of err as From finds it; "" for nil.
func CodeOf(err error) Code {
	if e := From(err); e != nil {
		return e.Code
	}
	return ""
}

// Is reports whether err's SQLSTATE is code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
