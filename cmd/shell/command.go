package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const help = `General
  \q, quit, exit         quit
  \?, help               this help
  \h [STATEMENT]         how a statement is written
  \c [DB [USER [HOST [PORT]]]] | URL
                         connect to another database or server
  \conninfo              where this session is connected
  \! [COMMAND]           run a command of the operating system
  \cd [DIRECTORY]        change the working directory
  \timing [on|off]       show how long statements take
  \password [USER]       change a password, which nobody sees
  \errverbose            the last error with all that is known of it

Statements (what has been typed, or else the last one)
  \g [FILE or |COMMAND]  run it, with its result into a file or a command
  \gx                    run it with one line for each cell
  \gset [PREFIX]         run it and keep the row's values as variables
  \gdesc                 name the columns of its result, without running it
  \gexec                 run it, then run every value of its result as a statement
  \chart [bar|line|histogram] [X [Y ...]]
                         draw it in the terminal; alone: the last result
  \crosstabview [V [H [D [SORT]]]]
                         the values of column V go down, of H across, of D into the cells
  \watch [SECONDS] [c=N] run it again and again, until Ctrl-C or N times
  \e [FILE]              edit it with $EDITOR
  \ef  \ev  [NAME]       edit a function or a view
  \sf  \sv  NAME         show how a function or a view was made; + numbers the lines
  \p  \r  \w FILE        print it, forget it, write it to a file

Files
  \i FILE                run the statements of a file; \ir: beside the one that runs
  \o [FILE or |COMMAND]  write results there; alone: to the terminal again
  \copy ...              COPY with a file, a program, stdin or stdout of this machine
  \echo  \qecho  \warn   print words to the terminal, the output, the errors

Catalog (a NAME may have * and ?, and a schema; S lists the system's too)
  \d[+] [NAME]           list relations, or describe one
  \dt \dv \di \ds [NAME] list tables, views, indexes, sequences; with + their size
  \dm [NAME]             list models
  \dn \du \df [NAME]     list schemas, roles, functions
  \dp [NAME]             list privileges
  \l[+]                  list databases

Results
  \x [on|off|auto]       one line for each cell; auto: where a row is too wide
  \a  \t  \f SEP  \H  \C TITLE
                         unaligned, rows alone, separator, HTML, title
  \pset [NAME [VALUE]]   border csv_fieldsep expanded fieldsep footer null pager recordsep title tuples_only
                         format: aligned unaligned csv json markdown html vertical

Variables
  \set [NAME [VALUE]]    set one, or list all; :NAME :'NAME' :"NAME" in a statement
  \prompt [TEXT] NAME    ask for one
  \if  \elif  \else  \endif
                         run what follows only where the expression is true
  \unset NAME            forget one; ON_ERROR_STOP ends scripts at the first error

A statement ends with a semicolon. Ctrl-C gives up what was typed, and cancels what runs.
`

// commands are the \commands by name. Each takes its arguments from a.
var commands map[string]func(s *session, ctx context.Context, sp *splitter, a *arguments) error

func init() {
	commands = map[string]func(*session, context.Context, *splitter, *arguments) error{
		"q":        func(s *session, _ context.Context, _ *splitter, _ *arguments) error { s.quit = true; return nil },
		"?":        helpCommand,
		"h":        syntaxCommand,
		"help":     syntaxCommand,
		"c":        connectCommand,
		"connect":  connectCommand,
		"conninfo": conninfoCommand,
		"!":        func(s *session, _ context.Context, _ *splitter, a *arguments) error { return s.shellOut(a.line()) },
		"cd": func(_ *session, _ context.Context, _ *splitter, a *arguments) error {
			return os.Chdir(home(word(a, "~/")))
		},
		"timing":       timingCommand,
		"errverbose":   errverboseCommand,
		"g":            goCommand,
		"gx":           goExpandedCommand,
		"gset":         gsetCommand,
		"gdesc":        describeResult,
		"gexec":        gexecCommand,
		"if":           ifCommand,
		"elif":         elifCommand,
		"else":         elseCommand,
		"endif":        endifCommand,
		"prompt":       promptCommand,
		"password":     passwordCommand,
		"sf":           showDefinition("function", false),
		"sf+":          showDefinition("function", true),
		"sv":           showDefinition("view", false),
		"sv+":          showDefinition("view", true),
		"ef":           editDefinition("function", "CREATE FUNCTION name ( )\n RETURNS type\n LANGUAGE sql\nAS $function$\n\n$function$\n"),
		"ev":           editDefinition("view", "CREATE VIEW name AS\n SELECT\n"),
		"crosstabview": crosstabCommand,
		"chart":        chartCommand,
		"watch":        watchCommand,
		"e":            editCommand,
		"edit":         editCommand,
		"p":            printCommand,
		"r": func(s *session, _ context.Context, sp *splitter, _ *arguments) error {
			*sp = splitter{}
			s.last = ""
			return nil
		},
		"w":       writeCommand,
		"i":       includeCommand,
		"include": includeCommand,
		"ir":      includeRelative,
		"o":       outCommand,
		"copy":    copyCommand,
		"echo":    func(s *session, _ context.Context, _ *splitter, a *arguments) error { return s.say(a, s.io.Out) },
		"qecho":   func(s *session, _ context.Context, _ *splitter, a *arguments) error { return s.say(a, s.target()) },
		"warn":    func(s *session, _ context.Context, _ *splitter, a *arguments) error { return s.say(a, s.io.Err) },
		"x":       settingCommand("expanded"),
		"t":       settingCommand("tuples_only"),
		"f":       settingCommand("fieldsep"),
		"C":       settingCommand("title"),
		"a":       toggleKind("unaligned"),
		"H":       toggleKind("html"),
		"pset":    psetCommand,
		"set":     setCommand,
		"unset": func(s *session, _ context.Context, _ *splitter, a *arguments) error {
			delete(s.vars, word(a, ""))
			return nil
		},
	}
	maps.Copy(commands, catalogCommands)
}

// errShown is the error of a statement that has been printed.
var errShown = errors.New("the statement failed")

// word returns the next argument, or otherwise.
func word(a *arguments, otherwise string) string {
	if w, ok := a.next(); ok {
		return w
	}
	return otherwise
}

// command runs the \command at the start of text, and returns what follows it in the line.
func (s *session) command(ctx context.Context, sp *splitter, text string) (rest string) {
	end := 1
	for end < len(text) && text[end] != ' ' && text[end] != '\t' && text[end] != '\\' && text[end] != ';' {
		end++
		if text[1] == '!' {
			break // \!ls
		}
	}
	name := text[1:end]
	a := &arguments{s: s, rest: strings.TrimRight(text[end:], " \t")}
	if name != "!" && name != "copy" { // as psql's users end them too
		a.rest = strings.TrimRight(a.rest, ";")
	}
	if !s.active() && !slices.Contains(conditionals, name) {
		a.skip()
		return a.rest
	}
	run, ok := commands[name]
	if !ok {
		s.fail(fmt.Errorf(`invalid command \%s: try \? for help`, name), "")
		return ""
	}
	if err := run(s, ctx, sp, a); err != nil {
		if !errors.Is(err, errShown) {
			s.fail(err, s.sql)
		}
		if !slices.Contains(conditionals, name) { // whose \endif may be in the line
			return ""
		}
	}
	for _, w := range a.all() {
		fmt.Fprintf(s.io.Err, "\\%s: extra argument %q ignored\n", name, w)
	}
	return strings.TrimPrefix(a.rest, `\\`)
}

// target is where results go.
func (s *session) target() interface{ Write([]byte) (int, error) } {
	if s.out != nil {
		return s.out
	}
	return s.io.Out
}

func (s *session) say(a *arguments, to interface{ Write([]byte) (int, error) }) error {
	words, end := a.all(), "\n"
	if len(words) > 0 && words[0] == "-n" {
		words, end = words[1:], ""
	}
	_, err := fmt.Fprint(to, strings.Join(words, " ")+end)
	return err
}

func helpCommand(s *session, _ context.Context, _ *splitter, _ *arguments) error {
	to := s.output()
	fmt.Fprint(to, help)
	return s.closeSink(to)
}

func timingCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	switch w, given := a.next(); {
	case !given:
		s.timing = !s.timing
	case slices.Contains(yes, w):
		s.timing = true
	case slices.Contains(no, w):
		s.timing = false
	default:
		return fmt.Errorf("%q is neither on nor off", w)
	}
	s.inform("Timing is %s.\n", map[bool]string{true: "on", false: "off"}[s.timing])
	return nil
}

// inform prints what a \command did.
func (s *session) inform(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.io.Out, format, args...)
	}
}

func errverboseCommand(s *session, _ context.Context, _ *splitter, _ *arguments) error {
	var e *pgconn.PgError
	if !errors.As(s.failure, &e) {
		fmt.Fprintln(s.io.Out, "There is no previous error.")
		return nil
	}
	verbose := *e
	verbose.Message = e.Code + ": " + e.Message
	fmt.Fprint(s.io.Out, failure(&verbose, s.failedSQL))
	for _, f := range [][2]string{{"CONTEXT", e.Where}, {"SCHEMA NAME", e.SchemaName}, {"TABLE NAME", e.TableName}, {"COLUMN NAME", e.ColumnName},
		{"DATATYPE NAME", e.DataTypeName}, {"CONSTRAINT NAME", e.ConstraintName}} {
		if f[1] != "" {
			fmt.Fprintf(s.io.Out, "%s:  %s\n", f[0], f[1])
		}
	}
	return nil
}

// settingCommand is a \command for one of \pset's settings.
func settingCommand(name string) func(*session, context.Context, *splitter, *arguments) error {
	return func(s *session, _ context.Context, _ *splitter, a *arguments) error {
		w, given := a.next()
		return s.pset(name, w, given)
	}
}

func toggleKind(kind string) func(*session, context.Context, *splitter, *arguments) error {
	return func(s *session, _ context.Context, _ *splitter, _ *arguments) error {
		if s.format.kind == kind {
			return s.pset("format", "aligned", true)
		}
		return s.pset("format", kind, true)
	}
}

func psetCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	name, ok := a.next()
	if !ok {
		for _, v := range s.format.settings() {
			fmt.Fprintf(s.io.Out, "%-24s %s\n", v[0], v[1])
		}
		return nil
	}
	w, given := a.next()
	return s.pset(name, w, given)
}

func (s *session) pset(name, value string, given bool) error {
	if err := s.format.set(name, value, given); err != nil {
		return err
	}
	switch f := &s.format; name {
	case "format":
		s.inform("Output format is %s.\n", f.kind)
	case "expanded", "x", "vertical":
		if f.expanded == "auto" {
			s.inform("Expanded display is used automatically.\n")
		} else {
			s.inform("Expanded display is %s.\n", f.expanded)
		}
	case "tuples_only", "t":
		s.inform("Tuples only is %s.\n", map[bool]string{true: "on", false: "off"}[f.tuples])
	case "null":
		s.inform("Null display is %q.\n", f.null)
	case "fieldsep":
		s.inform("Field separator is %q.\n", f.fieldsep)
	case "title", "C":
		s.inform("Title is %q.\n", f.title)
	case "border":
		s.inform("Border style is %d.\n", f.border)
	case "pager":
		s.inform("Pager usage is %s.\n", f.pager)
	}
	return nil
}

func setCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	words := a.all()
	switch {
	case len(words) == 0:
		for _, name := range slices.Sorted(maps.Keys(s.vars)) {
			fmt.Fprintf(s.io.Out, "%s = '%s'\n", name, s.vars[name])
		}
	default:
		s.vars[words[0]] = strings.Join(words[1:], "")
		if len(words) == 1 && words[0] == "ON_ERROR_STOP" {
			s.vars[words[0]] = "on"
		}
	}
	return nil
}

func connectCommand(s *session, ctx context.Context, _ *splitter, a *arguments) error {
	words := a.all()
	o := *s.opts
	if len(words) > 0 && (strings.Contains(words[0], "=") || strings.Contains(words[0], "://")) {
		o = options{dsn: words[0]}
	} else {
		kept := []string{s.conf.Database, s.conf.User, s.conf.Host, fmt.Sprint(s.conf.Port)}
		moved := false
		for i, w := range words {
			if i < len(kept) && w != "-" {
				moved = moved || i >= 2 && kept[i] != w
				kept[i] = w
			}
		}
		o = options{database: kept[0], user: kept[1], host: kept[2], port: kept[3], noPassword: s.opts.noPassword}
		if !moved { // the same server: the same certificates, and the same role's password
			o.base, o.dial = s.conf, s.opts.dial
		}
	}
	conn, conf, err := s.connect(ctx, &o)
	if err != nil {
		s.fail(err, "")
		fmt.Fprintln(s.io.Err, "Previous connection kept")
		return errShown
	}
	_ = s.conn.Close(ctx)
	s.conn, s.conf, s.opts = conn, conf, &o
	s.catalog = nil
	s.inform("You are now connected to database %q as user %q.\n", conf.Database, conf.User)
	return nil
}

func conninfoCommand(s *session, _ context.Context, _ *splitter, _ *arguments) error {
	if s.opts.dial != nil {
		fmt.Fprintf(s.io.Out, "You are connected to database %q as user %q of an engine in this process.\n", s.conf.Database, s.conf.User)
		return nil
	}
	secure := ""
	if s.conf.TLSConfig != nil {
		secure = ", with TLS"
	}
	fmt.Fprintf(s.io.Out, "You are connected to database %q as user %q on host %q at port \"%d\"%s.\n", s.conf.Database, s.conf.User, s.conf.Host, s.conf.Port, secure)
	return nil
}

func includeCommand(s *session, ctx context.Context, _ *splitter, a *arguments) error {
	path, ok := a.next()
	if !ok {
		return errors.New(`\i needs a file name`)
	}
	s.file(ctx, path)
	return nil
}

// includeRelative is \ir: a file whose path is from that of the script that runs.
func includeRelative(s *session, ctx context.Context, _ *splitter, a *arguments) error {
	path, ok := a.next()
	if !ok {
		return errors.New(`\ir needs a file name`)
	}
	if !filepath.IsAbs(path) && s.in.name != "" {
		path = filepath.Join(filepath.Dir(s.in.name), path)
	}
	s.file(ctx, path)
	return nil
}

func outCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	target := a.line()
	var next *sink
	if target != "" {
		var err error
		if next, err = s.openSink(s.unquote(target)); err != nil {
			return err
		}
	}
	old := s.out
	s.out = next
	if old != nil {
		return old.close()
	}
	return nil
}

// unquote resolves quotes and variables of a file's name; a |COMMAND stays as it is.
func (s *session) unquote(target string) string {
	if strings.HasPrefix(target, "|") {
		return target
	}
	return word(&arguments{s: s, rest: target}, target)
}
