package source

import (
	"errors"
	"sync"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
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
	}
	codec, err := compress.GetCodec(c)
	if err != nil {
		return nil, err
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
