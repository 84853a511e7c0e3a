package family

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Windows describes how rows form the sequences that a family learns from. The rows
// that agree in the columns PartitionBy are a partition, in the order of the values of
// OrderBy; a window is Length rows of it that follow each other, and one begins at
// every Stride-th row, as long as there are Length rows left. Without PartitionBy all
// rows are one partition, on which one thread of one node trains.
//
// These columns are not features. To use the time as a feature too, select it twice,
// under another name.
type Windows struct {
	PartitionBy, OrderBy []string
	Length, Stride       int
	// Whole keeps the rows of a partition together in a block (block.Block.Groups) and has no windows: rows
	// are rows, and partitions are held out whole. Length and Stride are 1.
	Whole bool
}

// Options of windows. A family that has one has them all: WindowOptions.
var (
	window = &Option{Fixed: true, Names: []string{"window", "window_size", "sequence_length", "timesteps"}, Type: "integer",
		Doc: "The rows of a window, which follow each other in a partition.", Read: Integer(1, 1e6)}
	stride = &Option{Fixed: true, Names: []string{"stride", "sequence_stride"}, Type: "integer", Default: "1",
		Doc: "The distance in rows between the beginnings of two windows of a partition.", Read: Integer(1, 1e9)}
	OrderBy = &Option{Names: []string{"order_by", "time_series_timestamp_col"}, Type: "columns",
		Doc: "The order of rows within a partition. These columns are not features.", Read: columnNames}
	PartitionBy = &Option{Names: []string{"partition_by", "time_series_id_col"}, Type: "columns", Default: "all rows are one sequence",
		Doc: "Rows with the same values in these columns form a sequence. These columns are not features.", Read: columnNames}
	// SeriesID says, of families that continue series, which series a row is of: a model each. It is GROUP BY by another name.
	SeriesID = &Option{Fixed: true, Names: []string{"time_series_id_col"}, Type: "columns", Default: "all rows are one series",
		Doc: "The columns for each of whose values there is a series of its own. `GROUP BY` says the same.", Read: groupColumns}
	// Holidays names a relation of days, which gives rows of a series a regressor more; a day of the statement's rows is that of OrderBy.
	Holidays = &Option{Fixed: true, Names: []string{"holidays"}, Type: "relation", Default: "none",
		Doc: "A table or view of days and their names: `date`, `name` and, for the days around them, `lower_window` and `upper_window`. Each name becomes a regressor.", Read: relationName}
	// UserColumn and ItemColumn name the columns of who has rated, and what: see Plan.Pair.
	UserColumn = &Option{Names: []string{"user_col", "user_column", "user"}, Type: "column", Doc: "The column of users. Numbers, texts, booleans, dates or uuids.", Read: ColumnName}
	ItemColumn = &Option{Names: []string{"item_col", "item_column", "item"}, Type: "column", Doc: "The column of items, likewise.", Read: ColumnName}
	// IDColumn names the column by whose values a model names training rows: see Plan.Identity.
	IDColumn = &Option{Names: []string{"id_col", "id_column"}, Type: "column", Default: "rows have the numbers from 1, in the order of their contents",
		Doc: "Without a target: the column whose values `ml.neighbors` returns. It is not a feature.", Read: ColumnName}
	// QueryID names the column of whose value rows are ranked together: see Queries.
	QueryID = &Option{Names: []string{"query_id", "qid", "group_col"}, Type: "column",
		Doc: "The query (a search, a user, a day) that each row belongs to: rows of one are ranked among themselves, and held out together. It is not a feature.", Read: ColumnName}
)

// Queries plans rows that are ranked among those of the same query, which QueryID names.
func (r *Request) Queries() (*Windows, error) {
	name := r.Options.Text(QueryID.Names[0], "")
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the option %q is missing", QueryID.Names[0]).
			WithHint("Rows are ranked among those of one query: name the column that says which, query_id = 'query'.")
	}
	return &Windows{PartitionBy: []string{name}, Length: 1, Stride: 1, Whole: true}, nil
}

// WindowOptions returns the options of a family whose Plan asks for windows.
func WindowOptions() []*Option { return []*Option{window, stride, OrderBy, PartitionBy} }

// NamesColumn reports whether an option gives the column of this name a special role,
// such as target, weight or order.
func NamesColumn(a Arg, column string) bool {
	d := Find(append(append(WindowOptions(), QueryID, Event, UserColumn, ItemColumn, IDColumn), Common...), a.Name)
	if d == nil || d.Type != "column" && d.Type != "columns" {
		return false
	}
	names, err := columnNames(Value{Arg: a})
	if err != nil {
		return false // reading the option reports the error
	}
	return slices.ContainsFunc(names.([]string), func(n string) bool { return strings.EqualFold(n, column) })
}

// Windows reads the options of windows, of which window and order_by are required.
func (r *Request) Windows() (*Windows, error) {
	for _, d := range []*Option{window, OrderBy} {
		if !r.Options.Given(d.Names[0]) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "the option %q is missing", d.Names[0]).
				WithHint("A sequence needs its length, window, and the columns that order its rows, order_by.")
		}
	}
	o := r.Options
	return &Windows{PartitionBy: o.Texts(PartitionBy.Names[0], nil), OrderBy: o.Texts(OrderBy.Names[0], nil),
		Length: o.Int(window.Names[0], 1), Stride: o.Int(stride.Names[0], 1)}, nil
}

// Sequencer is a Predictor that scores windows of a certain length.
type Sequencer interface{ Length() int }
