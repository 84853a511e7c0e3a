package shell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/cmd/flags"
)

// action is a -c, a -f, or a statement of `tributary query`, in the order in which they were given.
type action struct {
	file bool
	text string
}

// EngineOptions are what the person asks of an engine in this process.
type EngineOptions struct {
	Data   string // "" for a directory that is removed at the end
	Memory string
}

// Dial connects to a server; the engine in this process knows no address.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// StartEngine starts an engine in this process, and returns how to connect to it and what stops it.
type StartEngine func(ctx context.Context, o EngineOptions) (dial Dial, stop func() error, err error)

// options are the command's, and those of \connect.
type options struct {
	dsn, host, port, user, database string
	engine                          EngineOptions
	actions                         []action
	sets                            []string // NAME=VALUE
	out                             string
	noRC, askPassword, noPassword   bool
	base                            *pgx.ConnConfig // of \connect to the same server
	dial                            Dial            // of an engine in this process
}

// once is a flag that runs a function each time it is given.
type once func(string) error

func (once) String() string       { return "" }
func (f once) Set(v string) error { return f(v) }

// parse reads the arguments; query says that what stands alone is statements, not an address.
func (s *session) parse(args []string, query bool) (*options, error) {
	o := new(options)
	name, usage := "sql", "Usage: tributary sql [flags] [DATABASE [USER] | URL]\n\nWithout an address it starts an engine in this process.\n"
	if query {
		name, usage = "query", "Usage: tributary query [flags] 'STATEMENT' ...\n\nRuns statements on an engine in this process, or on a server where an address is given.\n"
	}
	fs := flags.New(name, usage)
	fs.SetOutput(s.io.Err)
	fs.StringVar(&o.dsn, "dsn", "", "server, as postgres://user@host:port/database or key=value text")
	fs.StringVar(&o.engine.Data, "data", "", "run an engine in this process on this directory")
	fs.StringVar(&o.engine.Memory, "memory", "", "memory of an engine in this process (default: 70% of what is free)")
	for _, f := range []struct {
		to                *string
		short, long, text string
	}{
		{&o.host, "h", "host", "host (default: PGHOST or 127.0.0.1)"},
		{&o.port, "p", "port", "port (default: PGPORT or 5432)"},
		{&o.user, "U", "user", "role (default: PGUSER or tributary)"},
		{&o.database, "d", "database", "database, or a URL (default: PGDATABASE or tributary)"},
		{&o.out, "o", "output", "file for results, or |COMMAND"},
	} {
		fs.StringVar(f.to, f.long, "", f.text)
		fs.StringVar(f.to, f.short, "", "short for --"+f.long)
	}
	fs.Var(once(func(v string) error { o.actions = append(o.actions, action{text: v}); return nil }), "c", "statement or \\command to run, then end; may be given more than once")
	fs.Var(once(func(v string) error { o.actions = append(o.actions, action{true, v}); return nil }), "f", "file to run, then end; - is the standard input; may be given more than once")
	fs.Var(once(func(v string) error { o.sets = append(o.sets, v); return nil }), "v", "set a variable, as NAME=VALUE; may be given more than once")
	fs.Var(once(func(v string) error {
		name, value, given := strings.Cut(v, "=")
		return s.format.set(name, value, given)
	}), "P", "set how results are printed, as \\pset does: NAME=VALUE")
	fs.BoolVar(&s.stop, "stop", false, "stop at the first error and exit with 3, as -v ON_ERROR_STOP=1")
	set := func(short, long, text string, f func()) {
		do := func(string) error { f(); return nil }
		fs.BoolFunc(short, text, do)
		if long != "" {
			fs.BoolFunc(long, "-"+short+" in words", do)
		}
	}
	set("x", "expanded", "one line for each cell", func() { s.format.expanded = "on" })
	set("A", "no-align", "values with | between them", func() { s.format.kind = "unaligned" })
	set("t", "tuples-only", "rows alone, without heads and counts", func() { s.format.tuples = true })
	set("H", "html", "results as HTML", func() { s.format.kind = "html" })
	set("q", "quiet", "no greeting and no command tags", func() { s.quiet = true })
	set("X", "no-tributaryrc", "do not read ~/.tributaryrc", func() { o.noRC = true })
	set("w", "no-password", "never ask for a password", func() { o.noPassword = true })
	set("W", "password", "ask for a password first", func() { o.askPassword = true })
	set("a", "echo-all", "print what is read from scripts", func() { s.echo = "all" })
	set("e", "echo-queries", "print what is sent", func() { s.echo = "queries" })
	for _, k := range []string{"csv", "json", "markdown"} {
		fs.BoolFunc(k, "results as "+k, func(string) error { s.format.kind = k; return nil })
	}
	fs.StringVar(&s.format.fieldsep, "F", "|", "what stands between values under -A")

	words, err := parseArgs(fs.FlagSet, args)
	if err != nil {
		return nil, err
	}
	if query {
		for _, w := range words {
			o.actions = append(o.actions, action{text: w})
		}
		return o, nil
	}
	if len(words) > 0 && o.database != "" {
		o.user, words = words[0], words[1:]
	} else if len(words) > 0 {
		o.database, words = words[0], words[1:]
		if len(words) > 0 {
			o.user, words = words[0], words[1:]
		}
	}
	if len(words) > 0 {
		return nil, fmt.Errorf("unexpected argument %q", words[0])
	}
	return o, nil
}

// parseArgs reads flags before and after the other arguments, and letters that were joined: -Atc is -A -t -c,
// and -p5433 is -p 5433.
func parseArgs(fs *flag.FlagSet, args []string) (words []string, err error) {
	for len(args) > 0 {
		if a := args[0]; len(a) > 2 && a[0] == '-' && a[1] != '-' {
			name, _, _ := strings.Cut(a[1:], "=")
			f := fs.Lookup(a[1:2])
			switch {
			case fs.Lookup(name) != nil || f == nil:
			case isBool(f):
				args = append([]string{a[:2], "-" + a[2:]}, args[1:]...)
			default:
				args = append([]string{a[:2], a[2:]}, args[1:]...)
			}
		}
		// One flag at a time, since the next may have to be taken apart.
		n := 1
		if a := args[0]; len(a) > 1 && a[0] == '-' && a != "--" {
			if f := fs.Lookup(strings.TrimLeft(a, "-")); f != nil && !isBool(f) {
				n = min(2, len(args))
			}
			if err := fs.Parse(args[:n]); err != nil {
				return nil, err
			}
		} else if a == "--" {
			return append(words, args[1:]...), nil
		} else {
			words = append(words, a)
		}
		args = args[n:]
	}
	return words, nil
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// addressed reports whether a server was named, by a flag or in the environment.
func (o *options) addressed() bool {
	return first(o.dsn, o.host, o.port, o.user, o.database, os.Getenv("PGHOST"), os.Getenv("PGHOSTADDR"), os.Getenv("PGPORT"), os.Getenv("PGSERVICE"), os.Getenv("PGDATABASE"), os.Getenv("PGUSER")) != ""
}

// config returns how to connect. What no flag names comes from the environment, the service file and the
// password file, as libpq does it; what they do not name has Tributary's defaults.
func (o *options) config() (*pgx.ConnConfig, error) {
	if o.base != nil {
		conf := o.base.Copy()
		if conf.User != o.user {
			conf.Password = ""
		}
		conf.Database, conf.User = o.database, o.user
		return conf, nil
	}
	dsn := o.dsn
	switch {
	case o.dial != nil:
		dsn = keyValues("host", "127.0.0.1", "user", "tributary", "dbname", "tributary", "sslmode", "disable")
	case dsn == "" && (strings.Contains(o.database, "=") || strings.Contains(o.database, "://")):
		dsn, o.database = o.database, ""
	}
	if dsn == "" {
		kv := []string{}
		service := os.Getenv("PGSERVICE") != ""
		for _, p := range []struct{ key, given, env, otherwise string }{
			{"host", o.host, "PGHOST", "127.0.0.1"}, {"port", o.port, "PGPORT", ""}, {"user", o.user, "PGUSER", "tributary"}, {"dbname", o.database, "PGDATABASE", "tributary"},
		} {
			if p.given == "" && os.Getenv(p.env) == "" && !service {
				p.given = p.otherwise
			}
			if p.given != "" {
				kv = append(kv, p.key, p.given)
			}
		}
		dsn = keyValues(kv...)
	}
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if o.dial != nil {
		conf.DialFunc = pgconn.DialFunc(o.dial)
	}
	if conf.RuntimeParams["application_name"] == "" {
		conf.RuntimeParams["application_name"] = "tributary sql"
	}
	return conf, nil
}

// connect opens the connection, and asks for the password where the server wants one that nobody gave.
func (s *session) connect(ctx context.Context, o *options) (*pgx.Conn, *pgx.ConnConfig, error) {
	conf, err := o.config()
	if err != nil {
		return nil, nil, err
	}
	conf.OnNotice = s.notice
	if o.askPassword && s.io.Password != nil {
		if conf.Password, err = s.io.Password("Password for user " + conf.User + ": "); err != nil {
			return nil, nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == "28P01" || refused.Code == "28000") && conf.Password == "" && !o.noPassword && s.io.Password != nil {
		if conf.Password, err = s.io.Password("Password for user " + conf.User + ": "); err != nil {
			return nil, nil, err
		}
		conn, err = pgx.ConnectConfig(ctx, conf)
	}
	return conn, conf, err
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func keyValues(kv ...string) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for i := 0; i < len(kv); i += 2 {
		fmt.Fprintf(&b, "%s='%s' ", kv[i], quote.Replace(kv[i+1]))
	}
	return b.String()
}
