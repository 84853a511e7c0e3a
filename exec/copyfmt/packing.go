package copyfmt

import (
	"compress/gzip"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Packings are the ways in which text files are compressed.
var Packings = []string{"none", "gzip", "zstd"}

// Packing is what the name of a file says of it.
func Packing(path string) string {
	switch path = strings.ToLower(path); {
	case strings.HasSuffix(path, ".gz"):
		return "gzip"
	case strings.HasSuffix(path, ".zst"):
		return "zstd"
	}
	return "none"
}

// Unpack reads a file's bytes as they were before they were compressed. Its Close closes the file.
func Unpack(file io.ReadCloser, packing string) (io.ReadCloser, error) {
	switch packing {
	case "gzip":
		z, err := gzip.NewReader(file)
		if err != nil {
			return nil, err
		}
		return &packed{Reader: z, close: z.Close, file: file}, nil
	case "zstd":
		z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return &packed{Reader: z, close: func() error { z.Close(); return nil }, file: file}, nil
	}
	return file, nil
}

// Pack compresses what is written to a file. Its Close closes the file.
func Pack(file io.WriteCloser, packing string) (io.WriteCloser, error) {
	switch packing {
	case "gzip":
		z := gzip.NewWriter(file)
		return &packed{Writer: z, close: z.Close, file: file}, nil
	case "zstd":
		z, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return &packed{Writer: z, close: z.Close, file: file}, nil
	}
	return file, nil
}

// packed is a compressed file.
type packed struct {
	io.Reader
	io.Writer
	close func() error
	file  io.Closer
}

func (p *packed) Close() error {
	err := p.close()
	if e := p.file.Close(); err == nil {
		err = e
	}
	return err
}
