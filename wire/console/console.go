package console

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/wire/pg"
)

// Options of a console.
type Options struct {
	// Dial opens a connection to the node.
	Dial func(pg.Origin) net.Conn
	// Node and Version are those shown.
	Node, Version string
	// Role is who logs in where nobody is asked for a name: where the node lets that role in
	// without a password.
	Role, Database string
	// Open, where set, reports whether that role needs no password now over loopback.
	Open func() bool
	Log  *slog.Logger
	// Account makes an account for the texts of a request, and for an answer that is kept.
	Account func() pg.Account
}

// Console serves the console. It is an http.Handler; Close ends its connections.
type Console struct {
	o      Options
	config *pgconn.Config
	mux    *http.ServeMux
	logins logins
	hub    hub
	ctx    context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup // of the goroutines that outlive a request
}

// New makes a console. Of what the library reads in the environment of the process (PGHOST, …) nothing is
// kept.
func New(o Options) (*Console, error) {
	config, err := pgconn.ParseConfig("postgres://console@127.0.0.1:5432/?sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.Database, config.RuntimeParams, config.Fallbacks, config.ValidateConnect = o.Database, nil, nil, nil
	config.ConnectTimeout = connectTime
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxRow)
		return f
	}
	c := &Console{o: o, config: config, mux: http.NewServeMux()}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.logins.by, c.hub.by = map[token]*login{}, map[string]*watch{}
	for _, at := range []string{"/{$}", "/login", "/statements", "/statements/{id}", "/tasks", "/data", "/data/{schema}/{table}", "/trainings", "/trainings/{name}",
		"/models", "/models/{name}", "/sql", "/notebooks", "/notebooks/{id}", "/settings", "/logs"} {
		c.mux.HandleFunc("GET "+at, c.index)
	}
	c.mux.HandleFunc("GET /assets/", c.asset)
	c.mux.HandleFunc("GET /api/session", c.session)
	c.mux.HandleFunc("POST /api/login", c.login)
	c.mux.HandleFunc("POST /api/logout", c.with(c.logout))
	c.mux.HandleFunc("POST /api/query", c.with(c.query))
	c.mux.HandleFunc("POST /api/download", c.with(c.download))
	c.mux.HandleFunc("POST /api/cancel", c.with(c.cancel))
	c.mux.HandleFunc("GET /api/live", c.with(c.live))
	c.wg.Add(1)
	go c.reap()
	return c, nil
}

// Close ends all logins and their connections.
func (c *Console) Close() {
	c.stop()
	c.logins.clear()
	c.wg.Wait()
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	// A page elsewhere can send a request, though not read its answer. What changes something
	// is sent by the page itself.
	if r.Method == http.MethodPost && !sameOrigin(r) {
		refuse(w, http.StatusForbidden, "the request comes from another site")
		return
	}
	c.mux.ServeHTTP(w, r)
}

// sameOrigin reports whether a request is not known to come from another site. Browsers name the
// origin of every POST.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "same-origin" || site == "none"
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// maxRow is how long a row may be: it is read whole, and no page can show more.
const maxRow = 16 << 20

// connectTime bounds opening a connection: a failed login is answered late on purpose.
const connectTime = 30 * time.Second

// connect opens a connection for the client of a request. notice may be nil.
func (c *Console) connect(ctx context.Context, r *http.Request, role, password string, pass *pg.Pass, notice func(*pgconn.Notice)) (*pgconn.PgConn, error) {
	return c.dial(ctx, originOf(r, pass), role, password, notice)
}

func (c *Console) dial(ctx context.Context, from pg.Origin, role, password string, notice func(*pgconn.Notice)) (*pgconn.PgConn, error) {
	config := c.config.Copy()
	config.User, config.Password = role, password
	config.RuntimeParams = map[string]string{"application_name": "console"}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return c.o.Dial(from), nil }
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelGrace}
	}
	if notice != nil {
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n) }
	}
	return pgconn.ConnectConfig(ctx, config)
}

// cancelGrace is how long a cancelled statement may take to end before its connection is closed.
const cancelGrace = 5 * time.Second

// originOf returns where the client of a request is.
func originOf(r *http.Request, pass *pg.Pass) pg.Origin {
	from := pg.Origin{TLS: r.TLS, Pass: pass, NoCopyIn: true, Remote: &net.TCPAddr{}, Local: &net.TCPAddr{}}
	if a, err := net.ResolveTCPAddr("tcp", r.RemoteAddr); err == nil {
		from.Remote = a
	}
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		from.Local = a
	}
	return from
}

// answer writes a JSON answer, refuse an error that is not a statement's.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"message": message}})
}

// random returns what nobody can guess.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}
