package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/pg"
)

const (
	cookieName = "tributary"
	// A login ends when nothing was asked for so long; a connection of a tab earlier.
	loginIdle = 12 * time.Hour
	tabIdle   = 15 * time.Minute
	// maxLogins of a node and maxTabs of a login are kept: of more, the one that was used least recently ends.
	maxLogins = 1000
	maxTabs   = 8
	// maxSmall is the size of a request that holds no statement.
	maxSmall = 4 << 10
)

// token is the hash of a cookie's value: who reads the node's memory has not the cookie.
type token [sha256.Size]byte

// login is a browser that has logged in.
type login struct {
	role, csrf string
	super      bool
	pass       pg.Pass
	ctx        context.Context // ends with the login
	end        context.CancelFunc
	wg         *sync.WaitGroup // the console's, of what closes its connections

	mu      sync.Mutex
	used    time.Time
	tabs    map[string]*tab
	running map[string]context.CancelFunc // by the id that the page gave
}

// tab is a connection that is kept between requests: SET and BEGIN hold in it.
type tab struct {
	mu     sync.Mutex // held while a request uses conn
	conn   *pgconn.PgConn
	notice func(*pgconn.Notice) // of the request that uses conn
	used   time.Time            // under login.mu
}

// logins are those of a node.
type logins struct {
	mu sync.Mutex
	by map[token]*login
}

func (l *logins) find(value string) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[sha256.Sum256([]byte(value))]
}

func (l *logins) add(value string, in *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.by) >= maxLogins {
		var oldest token
		var at time.Time
		for t, in := range l.by {
			if used := in.lastUsed(); at.IsZero() || used.Before(at) {
				oldest, at = t, used
			}
		}
		l.by[oldest].close()
		delete(l.by, oldest)
	}
	l.by[sha256.Sum256([]byte(value))] = in
}

// remove ends a login.
func (l *logins) remove(in *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t, other := range l.by {
		if other == in {
			delete(l.by, t)
		}
	}
	in.close()
}

func (l *logins) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.by {
		in.close()
	}
	clear(l.by)
}

// reap ends logins and connections that were not used for long.
func (c *Console) reap() {
	defer c.wg.Done()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.logins.mu.Lock()
			for t, in := range c.logins.by {
				if now.Sub(in.lastUsed()) > loginIdle {
					in.close()
					delete(c.logins.by, t)
				} else {
					in.closeIdle(now)
				}
			}
			c.logins.mu.Unlock()
		}
	}
}

func (in *login) lastUsed() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.used
}

func (in *login) touch() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.used = time.Now()
}

// close ends the login's connections; a statement that runs in one is cancelled.
func (in *login) close() {
	in.end()
	in.mu.Lock()
	tabs := in.tabs
	in.tabs = nil
	in.mu.Unlock()
	for _, t := range tabs {
		in.wg.Go(t.close) // waits for its statement, which the end of in.ctx has cancelled
	}
}

func (in *login) closeIdle(now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for id, t := range in.tabs {
		if now.Sub(t.used) > tabIdle {
			delete(in.tabs, id)
			in.wg.Go(t.close)
		}
	}
}

func (t *tab) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		shut(t.conn)
		t.conn = nil
	}
}

// shut closes a connection.
func shut(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// tab returns the connection of that id; another request may use it at the moment.
func (in *login) tab(id string) (*tab, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ctx.Err() != nil {
		return nil, in.ctx.Err()
	}
	if in.tabs == nil {
		in.tabs = map[string]*tab{}
	}
	t := in.tabs[id]
	if t == nil {
		if len(in.tabs) >= maxTabs {
			oldest := ""
			for id, t := range in.tabs {
				if oldest == "" || t.used.Before(in.tabs[oldest].used) {
					oldest = id
				}
			}
			in.wg.Go(in.tabs[oldest].close)
			delete(in.tabs, oldest)
		}
		t = &tab{}
		in.tabs[id] = t
	}
	t.used = time.Now()
	return t, nil
}

// who is the answer about a login.
type who struct {
	User    string `json:"user"`
	Super   bool   `json:"super"`
	CSRF    string `json:"csrf"`
	Node    string `json:"node"`
	Version string `json:"version"`
}

func (c *Console) who(in *login) who {
	return who{User: in.role, Super: in.super, CSRF: in.csrf, Node: c.o.Node, Version: c.o.Version}
}

// of returns the login of a request, nil without.
func (c *Console) of(r *http.Request) *login {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	return c.logins.find(cookie.Value)
}

// with calls next with the request's login, and for requests that may change something only if
// the page has sent the login's token along: a page of another site cannot know it.
func (c *Console) with(next func(http.ResponseWriter, *http.Request, *login)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := c.of(r)
		switch {
		case in == nil:
			refuse(w, http.StatusUnauthorized, "not logged in")
		case r.Method == http.MethodPost && subtle.ConstantTimeCompare([]byte(r.Header.Get("X-CSRF-Token")), []byte(in.csrf)) != 1:
			refuse(w, http.StatusForbidden, "the request lacks its token")
		default:
			in.touch()
			next(w, r, in)
		}
	}
}

// session says who is logged in, and if nobody is, whether a name and a password are needed at all.
func (c *Console) session(w http.ResponseWriter, r *http.Request) {
	if in := c.of(r); in != nil {
		answer(w, http.StatusOK, c.who(in))
		return
	}
	from := originOf(r, nil).Remote.(*net.TCPAddr)
	answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]string{"message": "not logged in"},
		"passwordless": c.o.Open != nil && from.IP.IsLoopback() && c.o.Open()})
}

// login checks a role's password as for every client, by opening a connection. Without a name it
// tries the role that may need none.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var as struct{ User, Password string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSmall)).Decode(&as); err != nil {
		refuse(w, http.StatusBadRequest, "a name and a password are expected")
		return
	}
	if as.User == "" {
		as.User = c.o.Role
	}
	in := &login{role: as.User, csrf: random(), wg: &c.wg, running: map[string]context.CancelFunc{}, used: time.Now()}
	conn, err := c.connect(r.Context(), r, as.User, as.Password, &in.pass, nil)
	if err != nil {
		answer(w, http.StatusUnauthorized, map[string]any{"error": problem(err)})
		return
	}
	in.super = conn.ParameterStatus("is_superuser") == "on"
	shut(conn)
	in.ctx, in.end = context.WithCancel(c.ctx)
	if old := c.of(r); old != nil {
		c.logins.remove(old)
	}
	value := random()
	c.logins.add(value, in)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	answer(w, http.StatusOK, c.who(in))
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request, in *login) {
	c.logins.remove(in)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	answer(w, http.StatusOK, map[string]bool{"ok": true})
}

// refused ends a login whose role may not connect any more: it has another password, or none may.
func (c *Console) refused(in *login, err error) {
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == string(pgerr.InvalidPassword) || e.Code == string(pgerr.InvalidAuthorizationSpecification)) {
		c.logins.remove(in)
	}
}

// problem describes an error: one of the engine with its code, another with its text.
func problem(err error) map[string]any {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return described(e)
	}
	return map[string]any{"message": err.Error()}
}

// described lists the fields of an error or a notice that there are.
func described(e *pgconn.PgError) map[string]any {
	out := map[string]any{"severity": e.Severity, "code": e.Code, "message": e.Message}
	for name, v := range map[string]string{"detail": e.Detail, "hint": e.Hint, "where": e.Where} {
		if v != "" {
			out[name] = v
		}
	}
	if e.Position > 0 {
		out["position"] = e.Position
	}
	return out
}
