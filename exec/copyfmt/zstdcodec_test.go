package copyfmt_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/apache/arrow/go/v15/parquet/compress"
)

// TestZstdEncodersAreReused: the library's pages share encoders, each of which takes megabytes.
func TestZstdEncodersAreReused(t *testing.T) {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		t.Fatal(err)
	}
	page := bytes.Repeat([]byte("a page of many bytes "), 5000)
	dst := make([]byte, codec.CompressBound(int64(len(page))))
	encode := func() {
		packed := codec.EncodeLevel(dst, page, compress.DefaultCompressionLevel)
		if back := codec.Decode(make([]byte, len(page)), packed); len(packed) > len(page)/10 || !bytes.Equal(back, page) {
			t.Fatalf("%d bytes become %d, and %d", len(page), len(packed), len(back))
		}
	}
	encode()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		encode()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 50; n > uint64(4*len(page)) {
		t.Errorf("a page of %d bytes allocates %d", len(page), n)
	}
}
