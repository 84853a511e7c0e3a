package types

import (
	"time"
	_ "time/tzdata" // zones must be there on a bare machine
)

// DateStyle is how dates print (the first word of the setting DateStyle).
type DateStyle uint8

// The date styles.
const (
	DateISO DateStyle = iota
	DatePostgres
	DateSQL
	DateGerman
)

// DateOrder is how ambiguous dates read (the second word of DateStyle).
type DateOrder uint8

// The date orders.
const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

// IntervalStyle is how intervals print.
type IntervalStyle uint8

// The interval styles.
const (
	IntervalPostgres IntervalStyle = iota
	IntervalVerbose
	IntervalSQL
	IntervalISO
)

// ByteaOutput is how bytea prints.
type ByteaOutput uint8

// The bytea forms.
const (
	ByteaHex ByteaOutput = iota
	ByteaEscape
)

// Env is what the text of values depends on besides the value: a session's
// settings and its transaction's clock. It is read-only once in use.
type Env struct {
	Location         *time.Location // nil is UTC
	DateStyle        DateStyle
	DateOrder        DateOrder
	IntervalStyle    IntervalStyle
	ExtraFloatDigits int
	ByteaOutput      ByteaOutput
	// Now is the start of the transaction: what 'now' and 'today' mean.
	Now time.Time
	// ReadNow, where set, is called when Now is read: what comes of it is good for
	// this moment only.
	ReadNow func()
	// Names resolves what only a catalog knows; nil leaves the names of
	// built-in types and plain numbers.
	Names Names
}

// Names is the catalog's side of the reg* types' text forms.
type Names interface {
	// RegIn gives the object a name denotes; t is the reg type.
	RegIn(t OID, name string) (OID, error)
	// RegOut gives the name to print; ok is false to print the number.
	RegOut(t OID, oid OID) (name string, ok bool)
}

// DefaultEnv is the environment of a fresh session: UTC, ISO, MDY, postgres.
var DefaultEnv = &Env{Location: time.UTC, ExtraFloatDigits: 1}

// now is Now in microseconds since 1970.
func (e *Env) now() int64 {
	if e.ReadNow != nil {
		e.ReadNow()
	}
	return e.Now.UnixMicro()
}

func (e *Env) loc() *time.Location {
	if e == nil || e.Location == nil {
		return time.UTC
	}
	return e.Location
}

func (e *Env) orDefault() *Env {
	if e == nil {
		return DefaultEnv
	}
	return e
}
