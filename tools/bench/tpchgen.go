package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/pingcap/go-tpc/tpch/dbgen"
)

// opener opens the destination of a table's rows, which are csv without a header.
type opener func(table string) (io.WriteCloser, error)

// gen guards dbgen, which keeps its random streams in package variables that cannot be
// reset: a process generates the tables once, one after the other.
var gen struct {
	sync.Mutex
	used bool
}

// errEnough ends a table early: a scale factor below one needs only its first rows.
var errEnough = errors.New("enough rows")

// tpchGenerate streams the eight tables of a scale factor. An integral scale factor
// produces dbgen's rows. One below 1 takes the first rows of scale factor 1 and folds
// their keys into the smaller tables, so that every join still matches.
func tpchGenerate(ctx context.Context, sf float64, open opener) (err error) {
	z, err := tpchSizes(sf)
	if err != nil {
		return err
	}
	gen.Lock()
	defer gen.Unlock()
	if gen.used {
		return errors.New("the rows can be made once in a process")
	}
	gen.used = true
	dbgen.InitDbGen(z.scale)
	for _, group := range []struct {
		id     dbgen.Table
		tables []string
		rows   int64
		put    func(w []*csvWriter, item any)
	}{
		{dbgen.TRegion, []string{"region"}, 5, putRegion},
		{dbgen.TNation, []string{"nation"}, 25, putNation},
		{dbgen.TSupp, []string{"supplier"}, z.suppliers, putSupplier},
		{dbgen.TCust, []string{"customer"}, z.customers, putCustomer},
		{dbgen.TPartPsupp, []string{"part", "partsupp"}, z.parts, z.putPart},
		{dbgen.TOrderLine, []string{"orders", "lineitem"}, z.orders, z.putOrder},
	} {
		l := &rowLoader{ctx: ctx, put: group.put, left: group.rows}
		for _, t := range group.tables {
			w, oerr := open(t)
			if oerr != nil {
				return errors.Join(oerr, l.close())
			}
			l.out = append(l.out, &csvWriter{to: w, w: bufio.NewWriterSize(w, 1<<18)})
		}
		err := dbgen.DbGen(map[dbgen.Table]dbgen.Loader{group.id: l}, []dbgen.Table{group.id})
		if l.failed != nil || l.left <= 0 {
			err = l.failed
		}
		if err = errors.Join(err, l.close()); err != nil {
			return fmt.Errorf("%s: %w", group.tables[0], err)
		}
	}
	return nil
}

// rowLoader is what dbgen calls with each row.
type rowLoader struct {
	ctx    context.Context
	put    func([]*csvWriter, any)
	out    []*csvWriter
	left   int64
	failed error
}

func (l *rowLoader) Load(item any) error {
	if l.left <= 0 {
		return errEnough
	}
	l.left--
	l.put(l.out, item)
	for _, w := range l.out {
		if l.failed = w.flushRow(); l.failed != nil {
			return l.failed
		}
	}
	if l.left%4096 == 0 {
		l.failed = l.ctx.Err()
	}
	return l.failed
}

// Flush is dbgen's end of a table, which comes before errors are known.
func (l *rowLoader) Flush() error { return nil }

func (l *rowLoader) close() error {
	var errs []error
	for _, w := range l.out {
		errs = append(errs, w.w.Flush(), w.to.Close())
	}
	return errors.Join(errs...)
}

// csvWriter builds rows of csv without allocating.
type csvWriter struct {
	to  io.WriteCloser
	w   *bufio.Writer
	buf []byte
}

func (c *csvWriter) sep() {
	if n := len(c.buf); n > 0 && c.buf[n-1] != '\n' {
		c.buf = append(c.buf, ',')
	}
}

func (c *csvWriter) int(v int64) *csvWriter {
	c.sep()
	c.buf = strconv.AppendInt(c.buf, v, 10)
	return c
}

// money writes an amount of cents.
func (c *csvWriter) money(v int64) *csvWriter {
	c.sep()
	if v < 0 {
		c.buf = append(c.buf, '-')
		v = -v
	}
	c.buf = strconv.AppendInt(c.buf, v/100, 10)
	c.buf = append(c.buf, '.', byte('0'+v/10%10), byte('0'+v%10))
	return c
}

// word writes a text that holds neither comma nor quote nor line end.
func (c *csvWriter) word(s string) *csvWriter {
	c.sep()
	c.buf = append(c.buf, s...)
	return c
}

func (c *csvWriter) char(b byte) *csvWriter {
	c.sep()
	c.buf = append(c.buf, b)
	return c
}

// text writes any text.
func (c *csvWriter) text(s string) *csvWriter {
	c.sep()
	c.buf = append(c.buf, '"')
	for i := range len(s) {
		if s[i] == '"' {
			c.buf = append(c.buf, '"')
		}
		c.buf = append(c.buf, s[i])
	}
	c.buf = append(c.buf, '"')
	return c
}

func (c *csvWriter) end() { c.buf = append(c.buf, '\n') }

func (c *csvWriter) flushRow() error {
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func putRegion(w []*csvWriter, item any) {
	r := item.(*dbgen.Region)
	w[0].int(int64(r.Code)).word(r.Text).text(r.Comment).end()
}

func putNation(w []*csvWriter, item any) {
	n := item.(*dbgen.Nation)
	w[0].int(int64(n.Code)).word(n.Text).int(int64(n.Join)).text(n.Comment).end()
}

func putSupplier(w []*csvWriter, item any) {
	s := item.(*dbgen.Supp)
	w[0].int(int64(s.SuppKey)).word(s.Name).text(s.Address).int(int64(s.NationCode)).word(s.Phone).money(int64(s.Acctbal)).text(s.Comment).end()
}

func putCustomer(w []*csvWriter, item any) {
	c := item.(*dbgen.Cust)
	w[0].int(int64(c.CustKey)).word(c.Name).text(c.Address).int(int64(c.NationCode)).word(c.Phone).money(int64(c.Acctbal)).
		word(c.MktSegment).text(c.Comment).end()
}

// tpchSize holds the row counts of a scale factor.
type tpchSize struct {
	scale                               int64 // dbgen's: at least 1
	folded                              bool  // below 1: keys are folded
	suppliers, customers, parts, orders int64
}

func tpchSizes(sf float64) (tpchSize, error) {
	whole := int64(sf)
	switch {
	case sf >= 1 && float64(whole) == sf && whole <= 1000:
		return tpchSize{scale: whole, suppliers: 10_000 * whole, customers: 150_000 * whole, parts: 200_000 * whole, orders: 1_500_000 * whole}, nil
	case sf >= 0.001 && sf < 1:
		z := tpchSize{scale: 1, folded: true, suppliers: int64(10_000*sf + .5), customers: int64(150_000*sf + .5),
			parts: int64(200_000*sf + .5), orders: int64(1_500_000*sf + .5)}
		// Every third customer orders nothing; folding keeps that only in threes.
		z.customers -= z.customers % 3
		return z, nil
	}
	return tpchSize{}, fmt.Errorf("scale factor %v: give a whole number up to 1000, or 0.001 to 1", sf)
}

// supplierOf is the i-th (0…3) of a part's four suppliers in folded tables.
func (z tpchSize) supplierOf(part, i int64) int64 {
	return (part-1+(part-1)/z.suppliers+i*(z.suppliers/4))%z.suppliers + 1
}

// supplierIndex undoes dbgen's formula (specification 4.2.3, PS_SUPPKEY) at
// scale factor 1.
func supplierIndex(part, supplier int64) int64 {
	const s = 10_000
	for i := range int64(4) {
		if (part+i*(s/4+(part-1)/s))%s+1 == supplier {
			return i
		}
	}
	return 0
}

// retailPrice is P_RETAILPRICE of the specification, in cents.
func retailPrice(part int64) int64 { return 90_000 + part/10%20_001 + part%1000*100 }

func (z tpchSize) putPart(w []*csvWriter, item any) {
	p := item.(*dbgen.Part)
	w[0].int(int64(p.PartKey)).word(p.Name).word(p.Mfgr).word(p.Brand).word(p.Type).int(int64(p.Size)).word(p.Container).
		money(int64(p.RetailPrice)).text(p.Comment).end()
	for i, s := range p.S {
		supplier := int64(s.SuppKey)
		if z.folded {
			supplier = z.supplierOf(int64(s.PartKey), int64(i))
		}
		w[1].int(int64(s.PartKey)).int(supplier).int(int64(s.Qty)).money(int64(s.SCost)).text(s.Comment).end()
	}
}

func (z tpchSize) putOrder(w []*csvWriter, item any) {
	o := item.(*dbgen.Order)
	customer, total := int64(o.CustKey), int64(o.TotalPrice)
	if z.folded {
		customer, total = (customer-1)%z.customers+1, 0
	}
	for i := range o.Lines {
		l := &o.Lines[i]
		part, supplier, price := int64(l.PartKey), int64(l.SuppKey), int64(l.EPrice)
		if z.folded {
			i := supplierIndex(part, supplier)
			part = (part-1)%z.parts + 1
			supplier, price = z.supplierOf(part, i), retailPrice(part)*int64(l.Quantity)
			total += price * (100 - int64(l.Discount)) / 100 * (100 + int64(l.Tax)) / 100
		}
		w[1].int(int64(l.OKey)).int(part).int(supplier).int(int64(l.LCnt)).int(int64(l.Quantity)).money(price).
			money(int64(l.Discount)).money(int64(l.Tax)).char(l.RFlag).char(l.LStatus).word(l.SDate).word(l.CDate).word(l.RDate).
			word(l.ShipInstruct).word(l.ShipMode).text(l.Comment).end()
	}
	w[0].int(int64(o.OKey)).int(customer).char(o.Status).money(total).word(o.Date).word(o.OrderPriority).word(o.Clerk).
		int(o.ShipPriority).text(o.Comment).end()
}
