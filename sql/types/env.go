package types

import (
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
)

// ByteaOutput is how bytea prints.
type ByteaOutput uint8

// The bytea forms.
const (
	ByteaHex ByteaOutput = iota
	ByteaEscape
)

// Env is the environment of the text forms of values: a session's settings and its transaction's
// clock. It is read-only once in use.
type Env struct {
	datetime.Settings
	ExtraFloatDigits int
	ByteaOutput      ByteaOutput
	// Names resolves names by a catalog; with nil there are only the names of built-in types and plain
	// numbers.
	Names Names
}

// Names is the catalog's side of the reg* types' text forms.
type Names interface {
	// RegIn returns the object a name denotes; t is the reg type.
	RegIn(t OID, name string) (OID, error)
	// RegOut returns the name to print; ok is false to print the number.
	RegOut(t OID, oid OID) (name string, ok bool)
}

// DefaultEnv is the environment of a fresh session: UTC, ISO, MDY, postgres.
var DefaultEnv = &Env{Settings: datetime.Settings{Location: time.UTC}, ExtraFloatDigits: 1}

// Dates returns the settings of dates, times and intervals; nil for a nil Env.
func (e *Env) Dates() *datetime.Settings {
	if e == nil {
		return nil
	}
	return &e.Settings
}

func (e *Env) orDefault() *Env {
	if e == nil {
		return DefaultEnv
	}
	return e
}
