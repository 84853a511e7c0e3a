package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/wire/pg"
)

const (
	// maxTopics are those of one viewer.
	maxTopics = 16
	// maxAnswer is how long the answer of a topic may be: it is kept for those who come later.
	maxAnswer = 1 << 20
	// stillThere is how often a viewer is sent something, so that both ends learn of a lost connection.
	stillThere = 15 * time.Second
)

// hub shares the answers of topics between the viewers of a role: ten open pages cost the node what one
// does.
//
//	watch (a role, one connection, one goroutine) ── feed (a topic) ──▶ viewers
type hub struct {
	mu sync.Mutex
	by map[string]*watch // by role
}

// topic is a statement whose answer is looked at live. A parameter, a text, comes with the
// name: NAME:ARGUMENT.
type topic struct {
	every time.Duration
	sql   string
}

// watch runs the topics that viewers of a role want, one after the other. It lives as long as it has
// viewers.
type watch struct {
	feeds map[string]*feed
	more  chan struct{} // a feed has been added
	end   context.CancelFunc
}

// feed is a topic with its last answer.
type feed struct {
	topic
	name    string
	arg     []*string
	due     time.Time
	last    []byte // the event
	acct    pg.Account
	viewers []*viewer
}

// viewer is an open page.
type viewer struct {
	in      *login
	from    pg.Origin
	mu      sync.Mutex
	pending map[string][]byte // the newest event of each feed that is not sent yet
	wake    chan struct{}
}

func (v *viewer) put(name string, event []byte) {
	v.mu.Lock()
	v.pending[name] = event
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (v *viewer) take() [][]byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	names := make([]string, 0, len(v.pending))
	for name := range v.pending {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([][]byte, len(names))
	for i, name := range names {
		out[i] = v.pending[name]
	}
	clear(v.pending)
	return out
}

// parseTopic finds a topic by NAME or NAME:ARGUMENT.
func parseTopic(text string) (*feed, error) {
	name, arg, has := strings.Cut(text, ":")
	t, ok := topics[name]
	if !ok || has != strings.Contains(t.sql, "$1") || strings.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("there is no topic %q", text)
	}
	f := &feed{topic: t, name: text}
	if has {
		f.arg = []*string{&arg}
	}
	return f, nil
}

// live sends the answers of topics whenever they change.
func (c *Console) live(w http.ResponseWriter, r *http.Request, in *login) {
	names := r.URL.Query()["topic"]
	if len(names) == 0 || len(names) > maxTopics {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("1 to %d topics are expected", maxTopics))
		return
	}
	var feeds []*feed
	for _, name := range names {
		f, err := parseTopic(name)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		feeds = append(feeds, f)
	}
	v := &viewer{in: in, from: originOf(r, nil), pending: map[string][]byte{}, wake: make(chan struct{}, 1)}
	c.watch(v, feeds)
	defer c.unwatch(v)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	send := func(p []byte) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(readerTime))
		if _, err := w.Write(p); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	if !send([]byte(": live\n\n")) {
		return
	}
	tick := time.NewTicker(stillThere)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-in.ctx.Done():
			send([]byte("event: end\ndata: {}\n\n"))
			return
		case <-tick.C:
			in.touch() // a page that is open is in use
			if !send([]byte(":\n\n")) {
				return
			}
		case <-v.wake:
			if !send(bytes.Join(v.take(), nil)) {
				return
			}
		}
	}
}

// watch adds a viewer to the feeds it wants; what is known already it gets at once.
func (c *Console) watch(v *viewer, feeds []*feed) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	wt := c.hub.by[v.in.role]
	if wt == nil {
		ctx, end := context.WithCancel(c.ctx)
		wt = &watch{feeds: map[string]*feed{}, more: make(chan struct{}, 1), end: end}
		c.hub.by[v.in.role] = wt
		c.wg.Add(1)
		go c.runWatch(ctx, wt)
	}
	for _, f := range feeds {
		if there := wt.feeds[f.name]; there != nil {
			f = there
		} else {
			wt.feeds[f.name], f.acct = f, c.o.Account()
		}
		f.viewers = append(f.viewers, v)
		if f.last != nil {
			v.put(f.name, f.last)
		}
	}
	select {
	case wt.more <- struct{}{}:
	default:
	}
}

// unwatch removes a viewer, and what nobody looks at any more.
func (c *Console) unwatch(v *viewer) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	wt := c.hub.by[v.in.role]
	for name, f := range wt.feeds {
		f.viewers = slices.DeleteFunc(f.viewers, func(o *viewer) bool { return o == v })
		if len(f.viewers) == 0 {
			f.acct.Close()
			delete(wt.feeds, name)
		}
	}
	if len(wt.feeds) == 0 {
		wt.end()
		delete(c.hub.by, v.in.role)
	}
}

// next returns the feed that is due first, with a viewer of it, on whose behalf it is read.
func (h *hub) next(wt *watch) (*feed, *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var first *feed
	for _, f := range wt.feeds {
		if first == nil || f.due.Before(first.due) || f.due.Equal(first.due) && f.name < first.name {
			first = f
		}
	}
	if first == nil {
		return nil, nil
	}
	return first, first.viewers[0]
}

func (c *Console) runWatch(ctx context.Context, wt *watch) {
	defer c.wg.Done()
	var conn *pgconn.PgConn
	defer func() {
		if conn != nil {
			shut(conn)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		f, v := c.hub.next(wt)
		if f == nil {
			return
		}
		timer.Reset(time.Until(f.due))
		select {
		case <-ctx.Done():
			return
		case <-wt.more:
			continue // it may be due sooner
		case <-timer.C:
		}
		event := c.read(ctx, &conn, f, v)
		c.hub.mu.Lock()
		f.due = time.Now().Add(f.every)
		if !bytes.Equal(event, f.last) && len(f.viewers) > 0 {
			f.acct.Shrink(int64(len(f.last)))
			if f.last = event; f.acct.Grow(int64(len(event))) != nil {
				f.last = nil // it is not kept for those who come later
			}
			for _, v := range f.viewers {
				v.put(f.name, event)
			}
		}
		c.hub.mu.Unlock()
	}
}

var errLong = errors.New("the answer is too long to be shown live")

// read runs a topic's statement and returns its event. Without a connection it opens one as the viewer.
func (c *Console) read(ctx context.Context, conn **pgconn.PgConn, f *feed, v *viewer) []byte {
	event := func(kind string, data []byte) []byte {
		return fmt.Appendf(nil, "event: %s\ndata: {%q:%s}\n\n", f.name, kind, data)
	}
	failed := func(err error) []byte { return event("error", asJSON(problem(err))) }
	if *conn == nil || (*conn).IsClosed() {
		pass := v.in.pass
		from := v.from
		from.Pass = &pass
		opened, err := c.dial(ctx, from, v.in.role, "", nil)
		if err != nil {
			c.refused(v.in, err)
			return failed(err)
		}
		*conn = opened
	}
	rr := (*conn).ExecParams(ctx, f.sql, given(f.arg), nil, nil, nil)
	data := append(asJSON(columns(rr.FieldDescriptions())), `,"rows":[`...)
	for n := 0; rr.NextRow(); n++ {
		if n > 0 {
			data = append(data, ',')
		}
		if len(data) < maxAnswer {
			data = appendRow(data, rr.Values())
		}
	}
	if _, err := rr.Close(); err != nil {
		return failed(err)
	}
	if len(data) >= maxAnswer {
		return failed(errLong)
	}
	return event("columns", append(data, ']'))
}
