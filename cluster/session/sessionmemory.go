package session

import (
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// kept is the memory of what a session keeps between statements: prepared statements, portals,
// settings of its own names, savepoints, what a transaction has yet to commit.
type kept struct {
	pool    *mem.Pool
	account *mem.Account // nil until there is more than freeKept
	bytes   int64
}

// freeKept is what is not worth charging: the common session has a few small statements.
const freeKept = 64 << 10

// What things take beside the bytes of their texts and values.
const (
	keptStatement = 16 << 10 // a command with its plan, types and columns
	keptPortal    = 1 << 10
	keptSavepoint = 2 << 10
	keptChange    = 2 << 10  // a change of the catalog that waits for its commit
	keptSuspended = 32 << 10 // a statement that waits for its client, in a portal or a cursor
)

// grow charges n more bytes: 53200 where there is no room.
func (k *kept) grow(n int64) error {
	if k.bytes+n > freeKept {
		if k.account == nil {
			k.account = k.pool.Account("session state", false)
		}
		if err := k.account.Resize(k.bytes + n); err != nil {
			return err
		}
	}
	k.bytes += n
	return nil
}

// shrink gives back what grow charged.
func (k *kept) shrink(n int64) {
	k.bytes -= n
	if k.account == nil {
		return
	}
	if k.bytes > freeKept {
		_ = k.account.Resize(k.bytes) // smaller
		return
	}
	k.account.Close()
	k.account = nil
}

// change is grow or shrink.
func (k *kept) change(n int64) error {
	if n < 0 {
		k.shrink(-n)
		return nil
	}
	return k.grow(n)
}

// bytesOf is what a prepared statement takes.
func (p prepared) bytesOf(name string) int64 {
	return keptStatement + int64(len(name)) + parse.EstimateMemory(p.text())
}

// portalBytes is what a portal with these parameters takes.
func portalBytes(params []types.Datum) int64 {
	n := int64(keptPortal)
	for _, d := range params {
		n += types.DatumBytes(d)
	}
	return n
}
