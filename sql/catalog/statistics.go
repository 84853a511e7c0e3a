package catalog

import "github.com/tributarydb/tributary/sql/types"

// Statistics describe a table's rows as ANALYZE found them. What follows from all rows at any time,
// extremes, NULLs and about how many values there are, stands in the zones of the segments instead.
type Statistics struct {
	Table   types.OID
	Columns []ColumnStatistics // by Column
}

// ColumnStatistics describe the values of a column, as pg_stats shows them.
type ColumnStatistics struct {
	Column int16
	Type   types.OID // they are of the column while it has this type
	Width  int       // bytes of a value, the mean
	// Distinct is pg_stats.n_distinct: how many values, or, below 0, their share of the rows. Unless ANALYZE read
	// the Whole table, what segments know is better.
	Distinct float64
	Whole    bool
	// Common are the commonest values, the commonest first, and Freqs their shares of all rows.
	Common []types.Datum
	Freqs  []float64
	// Bounds divide the rows with other values into parts of as many rows each.
	Bounds []types.Datum
	// Correlation is of the rows' order by value and as they lie; not known of fewer than two rows.
	Correlation float64
	Correlated  bool
}

// PutStatistics sets a table's statistics. It is harmless where the table is gone.
type PutStatistics struct{ Statistics *Statistics }

func (c *PutStatistics) apply(e *edit) error {
	if oid := c.Statistics.Table; e.s.relations[oid] != nil {
		writable(e, mapStatistics, &e.s.statistics)[oid] = c.Statistics
	}
	return nil
}

// Statistics returns what ANALYZE found in a table; nil where it did not look.
func (s *State) Statistics(table types.OID) *Statistics { return s.statistics[table] }

// Of returns what was found in a column; nil where nothing was, or the column has another type by now.
func (s *Statistics) Of(c *Column) *ColumnStatistics {
	if s != nil {
		for i := range s.Columns {
			if k := &s.Columns[i]; k.Column == c.Num && k.Type == c.Type.OID {
				return k
			}
		}
	}
	return nil
}
