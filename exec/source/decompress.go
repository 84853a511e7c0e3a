package source

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// decoder decompresses all of packed to exactly dst. The library's codecs of snappy and zstd make
// room for as much as the bytes claim or yield, which of a few kilobytes may be gigabytes.
type decoder func(dst, packed []byte) error

var errSize = errors.New("a page has another size uncompressed than it says")

// decoderOf returns the decoder of a codec; nil where nothing is compressed.
func decoderOf(c compress.Compression) (decoder, error) {
	switch c {
	case compress.Codecs.Uncompressed:
		return nil, nil
	case compress.Codecs.Snappy:
		return func(dst, packed []byte) error {
			if n, err := snappy.DecodedLen(packed); err != nil || n != len(dst) {
				return errSize
			}
			_, err := snappy.Decode(dst, packed)
			return err
		}, nil
	case compress.Codecs.Zstd:
		return func(dst, packed []byte) error {
			out, err := unzstd().DecodeAll(packed, dst[:0:len(dst)])
			if err == nil && len(out) != len(dst) {
				err = errSize
			}
			return err
		}, nil
	case lz4Raw:
		return unLZ4, nil
	case compress.Codecs.Lz4:
		return unHadoopLZ4, nil
	}
	codec, err := compress.GetCodec(c)
	if err != nil {
		return nil, pgerr.Unsupported("the compression %s of Parquet files is not supported", c)
	}
	return func(dst, packed []byte) error {
		if out := codec.Decode(dst, packed); len(out) != len(dst) {
			return errSize
		}
		return nil
	}, nil
}

// unzstd is shared: DecodeAll is for any goroutine, and goes no further than its room.
var unzstd = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true)) // its options are right
	return d
})

// lz4Raw is LZ4_RAW, a block of LZ4 and nothing else.
const lz4Raw = compress.Compression(7)

func unLZ4(dst, packed []byte) error {
	n, err := lz4.UncompressBlock(packed, dst)
	if err == nil && n != len(dst) {
		err = errSize
	}
	return err
}

// unHadoopLZ4 reads what the deprecated codec LZ4 stands for: Hadoop's frames, each of two lengths (of
// the bytes, and of the block that they are packed in) and a block; or, of other old writers, one block
// alone.
func unHadoopLZ4(dst, packed []byte) error {
	if unFrames(dst, packed) == nil {
		return nil
	}
	return unLZ4(dst, packed)
}

func unFrames(dst, packed []byte) error {
	for len(packed) >= 8 {
		size, n := binary.BigEndian.Uint32(packed), binary.BigEndian.Uint32(packed[4:])
		packed = packed[8:]
		if uint64(size) > uint64(len(dst)) || uint64(n) > uint64(len(packed)) {
			return errSize
		}
		if err := unLZ4(dst[:size], packed[:n]); err != nil {
			return err
		}
		dst, packed = dst[size:], packed[n:]
	}
	if len(dst)+len(packed) > 0 {
		return errSize
	}
	return nil
}
