package aggregate

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// rowList are the rows of one group: all n of a batch if rows is nil.
type rowList struct {
	group uint32
	rows  []int32
	n     int
}

// maxCodes is how many codes there may be for grouping by them.
const maxCodes = 256

// groupCodes finds the groups of rows whose keys are all columns with small
// dictionaries: a row's code is its keys' indices written as one number, and a
// code's group is looked up once per dictionary.
type groupCodes struct {
	dicts  []*array.Data // of the batch last seen
	widths []int         // of each key: its values and one code for NULL
	known  []uint32      // by code: group+1, 0 unknown

	codes []uint8 // of the batch's rows, those that do not count too
	count [2][maxCodes]int32
	order []int32
	lists []rowList
	of    []uint32
}

// byCode finds the groups of n rows of cols (rows; nil: all), as lists in
// t.codes. It returns false where keys have no small dictionaries.
func (t *groupTable) byCode(cols []arrow.Array, rows []int32, n int) bool {
	if t.codes == nil {
		t.codes = &groupCodes{}
	}
	c := t.codes
	if n == 0 || !c.use(cols, n) {
		return false
	}
	c.encode(cols)
	c.split(rows, n)
	t.nameCodes(cols)
	return true
}

// use prepares known for the columns' dictionaries; it returns false where they have too many codes.
func (c *groupCodes) use(cols []arrow.Array, n int) bool {
	same := len(c.dicts) == len(cols)
	product := 1
	for k, col := range cols {
		d, ok := col.(*array.Dictionary)
		if !ok {
			return false
		}
		of, _ := d.Data().Dictionary().(*array.Data)
		if of == nil {
			return false
		}
		width := of.Len() + 1
		if product *= width; product > maxCodes || product > 4*n {
			return false
		}
		same = same && c.dicts[k] == of
	}
	if same {
		return true
	}
	c.dicts, c.widths = c.dicts[:0], c.widths[:0]
	for _, col := range cols {
		of := col.Data().Dictionary().(*array.Data)
		c.dicts, c.widths = append(c.dicts, of), append(c.widths, of.Len()+1)
	}
	c.known = make([]uint32, product)
	return true
}

// encode computes the rows' codes.
func (c *groupCodes) encode(cols []arrow.Array) {
	all := cols[0].Len()
	if cap(c.codes) < all {
		c.codes = make([]uint8, all)
	}
	codes := c.codes[:all]
	for k, col := range cols {
		d := col.(*array.Dictionary)
		idx := d.Indices().(*array.Int32).Int32Values()[:all]
		w := uint8(c.widths[k])
		switch {
		case col.NullN() > 0:
			for i, x := range idx {
				if col.IsNull(i) {
					x = int32(w - 1)
				}
				if k == 0 {
					codes[i] = uint8(x)
				} else {
					codes[i] = codes[i]*w + uint8(x)
				}
			}
		case k == 0:
			for i, x := range idx {
				codes[i] = uint8(x)
			}
		default:
			for i, x := range idx {
				codes[i] = codes[i]*w + uint8(x)
			}
		}
	}
	c.codes = codes
}

// split makes the lists of the rows of each code, by counting. There are two sets of counts, so
// that rows of one code do not wait for each other.
func (c *groupCodes) split(rows []int32, n int) {
	codes := c.codes
	even, odd := &c.count[0], &c.count[1]
	clear(even[:len(c.known)])
	clear(odd[:len(c.known)])
	if rows == nil {
		for i, x := range codes {
			if i&1 == 0 {
				even[x]++
			} else {
				odd[x]++
			}
		}
	} else {
		for i, r := range rows {
			if x := codes[r]; i&1 == 0 {
				even[x]++
			} else {
				odd[x]++
			}
		}
	}
	c.lists = c.lists[:0]
	if cap(c.order) < n {
		c.order = make([]int32, n)
	}
	order := c.order[:n]
	at := int32(0)
	for x := range c.known {
		k := even[x] + odd[x]
		if k == 0 {
			continue
		}
		// group is the code until the codes are named
		c.lists = append(c.lists, rowList{group: uint32(x), rows: order[at : at+k : at+k], n: int(k)})
		even[x] = at
		at += k
	}
	if len(c.lists) == 1 {
		c.lists[0].rows = rows
		return
	}
	if rows == nil {
		for i, x := range codes {
			p := even[x]
			order[p] = int32(i)
			even[x] = p + 1
		}
		return
	}
	for _, r := range rows {
		x := codes[r]
		p := even[x]
		order[p] = r
		even[x] = p + 1
	}
}

// nameCodes replaces the lists' codes by groups, which it makes, in the order of
// their first rows, where they are new.
func (t *groupTable) nameCodes(cols []arrow.Array) {
	c := t.codes
	var fresh []int32
	var from []uint32 // the codes of fresh
	for _, l := range c.lists {
		if c.known[l.group] == 0 {
			row := int32(0)
			if l.rows != nil {
				row = l.rows[0]
			}
			at, _ := slices.BinarySearch(fresh, row)
			fresh, from = slices.Insert(fresh, at, row), slices.Insert(from, at, l.group)
		}
	}
	if len(fresh) > 0 {
		keys := make([]arrow.Array, len(cols))
		for k, col := range cols {
			keys[k] = kernel.Take(col, fresh)
		}
		for i, g := range t.find(keys, len(fresh)) {
			c.known[from[i]] = g + 1
		}
	}
	for i := range c.lists {
		c.lists[i].group = c.known[c.lists[i].group] - 1
	}
}

// each returns the group of each row that counts, as byCode found them.
func (c *groupCodes) each(rows []int32, n int) []uint32 {
	if cap(c.of) < n {
		c.of = make([]uint32, n)
	}
	out := c.of[:n]
	if rows == nil {
		for i, x := range c.codes {
			out[i] = c.known[x] - 1
		}
		return out
	}
	for i, r := range rows {
		out[i] = c.known[c.codes[r]] - 1
	}
	return out
}
