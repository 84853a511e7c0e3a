package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// live are the lines on a terminal below a statement that runs long: for how long, how far it is, and the
// losses of a training as curves. They are erased when the first row, an error or the end comes.
type live struct {
	s    *session
	sql  string
	pid  uint32
	from time.Time
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	lines int  // that are drawn
	train bool // the curves say what the notices of progress do
	over  bool
}

const (
	liveAfter = time.Second // a statement that takes less has no line
	liveEvery = 250 * time.Millisecond
	pollEvery = time.Second
	curveRows = 6
)

// watch starts the lines of a statement, where a person sees them; end must be called.
func (s *session) watch(ctx context.Context, sql string) *live {
	l := &live{s: s, sql: sql, pid: s.conn.PgConn().PID(), from: time.Now(), done: make(chan struct{})}
	if !s.terminal || s.io.Size == nil || !capable() {
		close(l.done)
		l.stop, l.over = func() {}, true
		return l
	}
	ctx, l.stop = context.WithCancel(ctx)
	go l.run(ctx)
	return l
}

// capable reports whether the terminal can move its cursor.
func capable() bool { return os.Getenv("TERM") != "dumb" }

// end erases the lines, for what is printed next. It may be called again.
func (l *live) end() {
	if l == nil {
		return
	}
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.erase()
}

// ending erases the lines before something is written.
type ending struct {
	io.Writer
	l *live
}

func (e ending) Write(b []byte) (int, error) {
	e.l.end()
	return e.Writer.Write(b)
}

// aside erases the lines while something is printed; they are drawn again after it. It reports whether the
// curves are shown.
func (l *live) aside(print func(training bool)) {
	if l == nil {
		print(false)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	print(l.train && !l.over)
}

func (l *live) erase() {
	if l.lines == 0 {
		return
	}
	up := ""
	if l.lines > 1 {
		up = fmt.Sprintf("\x1b[%dA", l.lines-1)
	}
	fmt.Fprint(l.s.io.Out, "\r"+up+"\x1b[J")
	l.lines = 0
}

func (l *live) draw(lines []string) {
	columns, _ := l.s.io.Size()
	if columns == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.erase()
	lines[0] = faint + cut(lines[0], columns-1) + plain
	fmt.Fprint(l.s.io.Out, strings.Join(lines, "\n"))
	l.lines = len(lines)
}

func (l *live) run(ctx context.Context) {
	defer close(l.done)
	timer := time.NewTimer(liveAfter)
	defer timer.Stop()
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	asked := time.Time{}
	var p progress
	for known := true; ; timer.Reset(liveEvery) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if known && time.Since(asked) >= pollEvery {
			if conn == nil {
				conf := l.s.conf.Copy()
				conf.OnNotice = nil
				conn, _ = pgx.ConnectConfig(ctx, conf) // without it there is the time alone
			}
			// A server that is no Tributary, or refuses, is not asked again.
			if known = conn != nil && p.poll(ctx, conn, l.pid, l.sql) == nil; ctx.Err() != nil {
				return
			}
			asked = time.Now()
			l.mu.Lock()
			l.train = p.model != ""
			l.mu.Unlock()
		}
		columns, rows := l.s.io.Size()
		l.draw(p.lines(time.Since(l.from), columns, rows))
	}
}

// progress is how far a statement is.
type progress struct {
	memory, spilled, read, total, produced int64
	queue                                  string
	model, phase                           string
	iterations                             int64
	eta                                    string
	at                                     []float64
	losses                                 []curve
}

func (p *progress) poll(ctx context.Context, c *pgx.Conn, pid uint32, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := plainRows(ctx, c, fmt.Sprintf(`SELECT memory_used, memory_spilled, rows_read, coalesce(rows_total, 0), rows_produced, coalesce(queue_node || ' at place ' || queue_place, '')
FROM cluster.sessions WHERE pid = %d AND state = 'active' AND query = %s`, pid, literal(sql)))
	if err != nil {
		return err
	}
	*p = progress{}
	if len(rows) == 1 {
		for i, to := range []*int64{&p.memory, &p.spilled, &p.read, &p.total, &p.produced} {
			*to, _ = strconv.ParseInt(rows[0][i], 10, 64)
		}
		p.queue = rows[0][5]
	}
	jobs, err := plainRows(ctx, c, `SELECT model, schema, coalesce(phase, ''), iterations, coalesce(date_trunc('second', eta)::text, '')
FROM ml.training_jobs WHERE state = 'running' AND statement = `+literal(sql)+` ORDER BY created_at DESC LIMIT 1`)
	if err != nil || len(jobs) == 0 {
		return err
	}
	j := jobs[0]
	p.model, p.phase, p.eta = j[0], j[2], j[4]
	p.iterations, _ = strconv.ParseInt(j[3], 10, 64)
	model := "model = " + literal(j[0]) + " AND schema = " + literal(j[1])
	history, err := plainRows(ctx, c, `SELECT iteration, coalesce(train_loss, 'NaN'), coalesce(validation_loss, 'NaN') FROM ml.training_history
WHERE `+model+` AND version > (SELECT coalesce(max(version), 0) FROM ml.model_versions v WHERE v.name = `+literal(j[0])+` AND v.schema = `+literal(j[1])+`) ORDER BY 1`)
	if err != nil {
		return err
	}
	p.losses = []curve{{name: "train"}, {name: "validation"}}
	for _, r := range history {
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(r[i], 64)
		}
		p.at = append(p.at, v[0])
		p.losses[0].y, p.losses[1].y = append(p.losses[0].y, v[1]), append(p.losses[1].y, v[2])
	}
	return nil
}

// plainRows returns the rows of a query as text, NULL as "".
func plainRows(ctx context.Context, c *pgx.Conn, sql string) (out [][]string, err error) {
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range results[0].Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = string(v)
		}
		out = append(out, row)
	}
	return out, nil
}

// lines are those to draw on a terminal of that size.
func (p *progress) lines(took time.Duration, columns, rows int) []string {
	parts := []string{fmt.Sprintf("%.1f s", took.Seconds())}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(p.queue != "", "waits on %s", p.queue)
	add(p.total > 0, "%s %d%%", gauge(p.read, p.total), 100*min(p.read, p.total)/max(p.total, 1))
	add(p.model != "", "training %s: %s, iteration %d", p.model, p.phase, p.iterations)
	add(p.eta != "", "%s left", p.eta)
	add(p.model == "" && p.read > 0, "%s rows read", grouped(p.read))
	add(p.produced > 0, "%s rows", grouped(p.produced))
	add(p.memory > 0, "memory %s", size(p.memory))
	add(p.spilled > 0, "spilled %s", size(p.spilled))
	out := []string{strings.Join(parts, "   ")}
	if len(p.at) < 2 || rows < 3*curveRows {
		return out
	}
	lines := p.losses
	if _, _, ok := bounds(lines[1].y); !ok {
		lines = lines[:1]
	}
	last := make([]curve, len(lines))
	for i, l := range lines {
		last[i] = curve{name: l.name + " loss " + short(l.y[len(l.y)-1])}
	}
	drawn := curves(p.at, lines, min(columns-1, chartWidth), curveRows, true)
	if drawn == nil {
		return out
	}
	return append(append(out, legend(last, true)), drawn...)
}

// gauge is a bar of ten characters.
func gauge(done, total int64) string {
	eighths := int(min(done, total) * 80 / max(total, 1))
	bar := strings.Repeat("█", eighths/8) + blocks[eighths%8]
	return "▕" + bar + pad(10-width(bar)) + "▏"
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func size(n int64) string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.n {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.n), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
