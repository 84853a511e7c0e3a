package raftnode

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/tributarydb/tributary/exec/disk"
)

// bolt is raft's log and stable store in a bbolt file, as raft-boltdb lays it out: a bucket of
// entries by index, in msgpack, and one of values. That package makes an encoder and a dozen
// objects for each entry, half fills each page, and syncs values apart from entries: it took a
// fifteenth of the processor's time of small INSERTs, and they all waited.
type bolt struct{ db *bbolt.DB }

var (
	boltLogs = []byte("logs")
	boltConf = []byte("conf")

	errNoKey = errors.New("not found") // raft asks for this text
)

// openBolt opens a file, which it makes if it is not there: under another name until it
// is whole, so that a crash or a full disk meanwhile leaves none.
func openBolt(path string) (bolt, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		unfinished := path + ".new"
		if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return bolt{}, err
		}
		b, err := openBuckets(unfinished)
		if err != nil {
			return bolt{}, err
		}
		if err = errors.Join(b.db.Close(), os.Rename(unfinished, path), disk.OS.SyncDir(filepath.Dir(path))); err != nil {
			return bolt{}, err
		}
	}
	return openBuckets(path)
}

func openBuckets(path string) (_ bolt, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return bolt{}, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(boltLogs)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(boltConf)
		}
		return err
	})
	if err != nil {
		return bolt{}, errors.Join(err, db.Close())
	}
	return bolt{db}, nil
}

// ends returns the first and the last index, 0 where there is none.
func (b bolt) ends() (first, last uint64, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(boltLogs).Cursor()
		if k, _ := c.First(); k != nil {
			first = binary.BigEndian.Uint64(k)
		}
		if k, _ := c.Last(); k != nil {
			last = binary.BigEndian.Uint64(k)
		}
		return nil
	})
	return first, last, err
}

// entry reads an entry into e, which does not alias the file's mapping.
func (b bolt) entry(index uint64, e *raft.Log) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(boltLogs).Get(binary.BigEndian.AppendUint64(nil, index))
		if v == nil {
			return raft.ErrLogNotFound
		}
		// Nothing that is read may alias the mapping, which is unmapped when the file grows.
		return codec.NewDecoderBytes(append([]byte(nil), v...), &codec.MsgpackHandle{}).Decode(e)
	})
}

// store writes entries, and a value under a key if that is not nil, in one transaction.
func (b bolt) store(entries []*raft.Log, key, value []byte) error {
	size := 0
	for _, e := range entries {
		size += len(e.Data) + entryRoom
	}
	room := make([]byte, 0, size) // bbolt retains keys and values until it commits
	return b.db.Update(func(tx *bbolt.Tx) error {
		logs := tx.Bucket(boltLogs)
		logs.FillPercent = 1 // entries are appended
		for _, e := range entries {
			from := len(room)
			var err error
			if room, err = appendEntry(room, e, sumOf(e)); err == nil {
				err = logs.Put(binary.BigEndian.AppendUint64(nil, e.Index), room[from:])
			}
			if err != nil {
				return err
			}
		}
		if key == nil {
			return nil
		}
		return tx.Bucket(boltConf).Put(key, value)
	})
}

// remove removes the entries from … to, inclusive.
func (b bolt) remove(from, to uint64) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		c := tx.Bucket(boltLogs).Cursor()
		for k, _ := c.Seek(binary.BigEndian.AppendUint64(nil, from)); k != nil && binary.BigEndian.Uint64(k) <= to; k, _ = c.Next() {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b bolt) value(key []byte) (v []byte, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		x := tx.Bucket(boltConf).Get(key)
		if x == nil {
			return errNoKey
		}
		v = append([]byte(nil), x...)
		return nil
	})
	return v, err
}

// entryRoom is an upper bound of what an entry's encoding takes besides its data.
const entryRoom = 128

// appendEntry encodes an entry with a checksum as its extensions: the same bytes as
// codec.Encoder writes for a raft.Log, in msgpack without the bin and time types.
func appendEntry(b []byte, e *raft.Log, sum []byte) ([]byte, error) {
	at, err := e.AppendedAt.MarshalBinary()
	b = appendRaw(appendRaw(append(b, 0x86), "AppendedAt"), at)
	if b = appendRaw(b, "Data"); e.Data == nil {
		b = append(b, 0xc0)
	} else {
		b = appendRaw(b, e.Data)
	}
	b = appendRaw(appendRaw(b, "Extensions"), sum)
	b = appendUint(appendRaw(b, "Index"), e.Index)
	b = appendUint(appendRaw(b, "Term"), e.Term)
	return appendUint(appendRaw(b, "Type"), uint64(e.Type)), err
}

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 1<<7:
		return append(b, byte(v))
	case v < 1<<8:
		return append(b, 0xcc, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(v))
	case v < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
}

func appendRaw[T string | []byte](b []byte, v T) []byte {
	switch n := len(v); {
	case n < 1<<5:
		b = append(b, 0xa0|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, v...)
}
