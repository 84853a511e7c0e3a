package copyfmt

import (
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// libraryCodecs are the codecs of Arrow's Parquet writer. Its codec for zstd makes an encoder for each
// page, of several megabytes, which takes four times as long as the page. Version 15 has no function
// that registers another (later ones have RegisterCodec); a version without this variable does not link.
//
//go:linkname libraryCodecs github.com/apache/arrow/go/v15/parquet/compress.codecs
var libraryCodecs map[compress.Compression]compress.Codec

func init() { libraryCodecs[compress.Codecs.Zstd] = zstdCodec{libraryCodecs[compress.Codecs.Zstd]} }

// zstdCodec is the library's, with encoders that are used again.
type zstdCodec struct{ compress.Codec }

var zstdEncoders = sync.Pool{New: func() any {
	// A page is a megabyte, mostly.
	e, _ := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // its options are right
	return e
}}

// EncodeLevel implements compress.Codec.
func (c zstdCodec) EncodeLevel(dst, src []byte, level int) []byte {
	if level != compress.DefaultCompressionLevel {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	e := zstdEncoders.Get().(*zstd.Encoder)
	defer zstdEncoders.Put(e)
	return e.EncodeAll(src, dst[:0])
}
