package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// crosstabColumns is how many columns a table may have that \crosstabview makes, as in psql.
const crosstabColumns = 1600

// crosstabCommand is \crosstabview [V [H [D [SORT]]]]: the values of column V go down, those of H across, and
// those of D into the cells.
func crosstabCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	words := a.all()
	k, err := s.result(ctx, sp, "crosstabview")
	if err != nil {
		return err
	}
	if len(k.cols) < 3 {
		return errors.New(`\crosstabview: query must return at least three columns`)
	}
	if len(words) < 3 && len(k.cols) != 3 {
		return errors.New(`\crosstabview: data column must be specified when query returns more than three columns`)
	}
	at := []int{0, 1, -1, -1}
	for i, w := range words[:min(len(words), 4)] {
		if at[i], err = k.find(w); err != nil {
			return fmt.Errorf(`\crosstabview: %w`, err)
		}
	}
	if at[0] == at[1] {
		return errors.New(`\crosstabview: vertical and horizontal headers must be different columns`)
	}
	if at[2] < 0 { // the one that is left of three
		at[2] = 3 - at[0] - at[1]
	}
	var down, across []*string
	rowOf, columnOf := map[string]int{}, map[string]int{}
	order := map[int]float64{}
	key := func(v *string) string {
		if v == nil {
			return "n"
		}
		return "v" + *v
	}
	place := func(v *string, list *[]*string, of map[string]int) int {
		i, ok := of[key(v)]
		if !ok {
			i = len(*list)
			of[key(v)] = i
			*list = append(*list, v)
		}
		return i
	}
	cells := map[[2]int]*string{}
	for _, r := range k.rows {
		i, j := place(r[at[0]], &down, rowOf), place(r[at[1]], &across, columnOf)
		if len(across) > crosstabColumns {
			return fmt.Errorf(`\crosstabview: maximum number of columns (%d) exceeded`, crosstabColumns)
		}
		if _, ok := cells[[2]int{i, j}]; ok {
			return fmt.Errorf(`\crosstabview: query result contains multiple data values for row %q, column %q`, text(r[at[0]]), text(r[at[1]]))
		}
		cells[[2]int{i, j}] = r[at[2]]
		if at[3] >= 0 && r[at[3]] != nil {
			if order[j], err = strconv.ParseFloat(*r[at[3]], 64); err != nil {
				return fmt.Errorf(`\crosstabview: column %q orders the columns, and is no number`, k.cols[at[3]].name)
			}
		}
	}
	columns := make([]int, len(across))
	for j := range columns {
		columns[j] = j
	}
	if at[3] >= 0 {
		slices.SortStableFunc(columns, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	}
	cols := []column{k.cols[at[0]]}
	for _, j := range columns {
		cols = append(cols, column{name: text(across[j]), oid: k.cols[at[2]].oid, right: k.cols[at[2]].right})
	}
	rows := make([][]*string, len(down))
	for i, v := range down {
		rows[i] = append(rows[i], v)
		for _, j := range columns {
			v, ok := cells[[2]int{i, j}]
			if !ok {
				empty := ""
				v = &empty
			}
			rows[i] = append(rows[i], v)
		}
	}
	return s.printRows(s.format, cols, rows)
}

// text is a value as a heading; NULL has none.
func text(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}
