package source

import (
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// libraryReads fails where the library's reader of a leaf column of a row group would: for encodings
// and compressions that it lacks, and for old timestamps that it turns into others.
func libraryReads(raw *parquetFile, n, leaf int) error {
	chunk, err := raw.RowGroup(n).MetaData().ColumnChunk(leaf)
	if err != nil {
		return err
	}
	phys := raw.MetaData().Schema.Column(leaf).PhysicalType()
	for _, e := range chunk.Encodings() {
		if e == byteStreamSplit || e > byteStreamSplit || e == parquet.Encodings.DeltaByteArray && phys != parquet.Types.ByteArray {
			return pgerr.Unsupported("the encoding %s of values of %s is not supported", e, phys)
		}
	}
	if _, err := compress.GetCodec(chunk.Compression()); err != nil {
		return pgerr.Unsupported("the compression %s is not supported for columns of this type", chunk.Compression())
	}
	if phys == parquet.Types.Int96 {
		return int96sFit(raw, n, leaf)
	}
	return nil
}

// int96sFit fails where a timestamp of a nested column, which only the library reads, is not one of
// 64 bits of nanoseconds, that the library makes of it.
func int96sFit(raw *parquetFile, n, leaf int) error {
	col, err := raw.RowGroup(n).Column(leaf)
	if err != nil {
		return err
	}
	rd, ok := col.(*pqfile.Int96ColumnChunkReader)
	if !ok {
		return pgerr.Internal("a column of INT96 is read as %T", col)
	}
	const atOnce = 1024
	values, defs, reps := make([]parquet.Int96, atOnce), make([]int16, atOnce), make([]int16, atOnce)
	for rd.HasNext() {
		_, k, err := rd.ReadBatch(atOnce, values, defs, reps)
		if err != nil {
			return err
		}
		for _, v := range values[:k] {
			var out [1]int64
			if err := int96s(v[:], out[:]); err != nil {
				return err
			}
			if out[0] < -9223372036854775 || out[0] > 9223372036854774 {
				return pgerr.Unsupported("timestamps of INT96 before 1678 or after 2261 are not supported in nested columns")
			}
		}
	}
	return rd.Err()
}
