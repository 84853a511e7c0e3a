package copyfmt

import (
	"errors"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Reject is an error of a record that is no row.
type Reject struct {
	Line   int64  // of the file, from 1: where the record ends
	Column string // at fault; "" for the record as a whole
	Value  string // of that column, and
	Record string // the record, both cut after rejectBytes
	Err    *pgerr.Error
}

const rejectBytes = 1000

// Reject makes the decoder leave out records that are no rows, and hand each of their errors to f.
func (d *Decoder) Reject(f func(Reject)) { d.reject = f }

// Convert makes f turn the fields of a column into what its type reads, before they are read. What f
// returns is valid until the next call.
func (d *Decoder) Convert(column int, f func(field []byte) ([]byte, error)) {
	if d.convert == nil {
		d.convert = make([]func([]byte) ([]byte, error), len(d.cols))
	}
	d.convert[column] = f
}

// StartAt makes the decoder count lines from one on, after which its input begins.
func (d *Decoder) StartAt(line int64) { d.line = line }

// refuse notes that the record that is being read is no row, for an error of its own: one of data,
// not of reading or of memory. false: nothing is rejected, the error ends the decoding.
func (d *Decoder) refuse(err error, column int, field, rec []byte) bool {
	var e *pgerr.Error
	if d.reject == nil || !errors.As(err, &e) || !strings.HasPrefix(string(e.Code), "22") {
		return false
	}
	d.refused = true
	r := Reject{Line: d.line, Record: cutText(rec), Err: e}
	if column >= 0 {
		r.Column, r.Value = d.cols[column].Name, cutText(field)
	}
	d.reject(r)
	return true
}

func cutText(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), rejectBytes)]), "\ufffd")
}
