package source

import "github.com/apache/arrow/go/v15/parquet"

// byteStreamSplit is the encoding BYTE_STREAM_SPLIT: first the first byte of each value, then the
// second of each, and so on. The library names it, and cannot read it.
const byteStreamSplit = parquet.Encoding(9)

// widthOf is how many bytes a value of a leaf takes; 0 where their number differs.
func widthOf(phys parquet.Type, length int) int {
	switch phys {
	case parquet.Types.Int32, parquet.Types.Float:
		return 4
	case parquet.Types.Int64, parquet.Types.Double:
		return 8
	case parquet.Types.Int96:
		return 12
	case parquet.Types.FixedLenByteArray:
		return length
	}
	return 0
}

// joinBytes decodes a page's values of so many bytes, which are split, into the plain encoding.
func (p *pageReader) joinBytes(b []byte, width int) ([]byte, error) {
	if width == 0 || len(b)%width != 0 {
		return nil, errPage
	}
	if len(b) > cap(p.flat) {
		if err := p.hold(len(b)-cap(p.flat), true); err != nil {
			return nil, err
		}
		p.flat = make([]byte, 0, len(b))
	}
	out, n := p.flat[:len(b)], len(b)/width
	for k := range width {
		for i, c := range b[k*n : (k+1)*n] {
			out[i*width+k] = c
		}
	}
	return out, nil
}
