// Command tributary is the database: a node, a shell and the demo.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Set by a release build (-ldflags "-X main.version=…"): commit and date are for builds
// from sources without their repository; otherwise they come from the build info.
var (
	version = "0.2.0"
	commit  string
	date    string
)

type command struct {
	name, short string
	run         func(ctx context.Context, args []string) error
}

// hasFlags reports whether the command has flags of its own; those of bench are another program's.
func (c command) hasFlags() bool {
	return c.name != "version" && c.name != "help" && c.name != "bench"
}

var commands []command

func init() {
	commands = []command{
		{"serve", "run a node", serve},
		{"sql", "a SQL shell, on a server or on an engine in its process", shellCommand},
		{"query", "run a statement and end, on an engine in the process", queryCommand},
		{"bench", "measure TPC-H, group-by and training, by the program " + benchProgram, benchmark},
		{"demo", "load real data into a cluster, query it, train on it", demo},
		{"node", "list, drain, replace and remove nodes", nodeCommand},
		{"backup", "back up a cluster into a directory, while it runs", backupCommand},
		{"restore", "make the data directory of a new cluster's first node of a backup", restoreCommand},
		{"verify", "read all backups of a directory and name what is damaged", verifyCommand},
		{"recover", "go on after the loss of a majority, from a stopped node's directory", recoverNode},
		{"config", "check a configuration file", configCommand},
		{"doctor", "say what is wrong with the machine, the directory and the cluster of a node", doctor},
		{"cert", "make certificates for nodes and clients", cert},
		{"completion", "print what completes commands and flags in bash, zsh or fish", completion},
		{"man", "write the manual pages", manPages},
		{"version", "print the version", func(context.Context, []string) error {
			fmt.Println(about())
			return nil
		}},
		{"help", "list the commands", func(context.Context, []string) error {
			usage(os.Stdout)
			return nil
		}},
	}
}

// asFlag maps flags to the commands that they stand for.
var asFlag = map[string]string{"--help": "help", "-help": "help", "-h": "help", "--version": "version", "-version": "version", "-V": "version"}

// about returns the version and what it was built from.
func about() string {
	out := "tributary " + version
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	rev, when := commit, date
	if rev == "" {
		if rev = settings["vcs.revision"]; rev != "" && settings["vcs.modified"] == "true" {
			rev += " (modified)"
		}
	}
	if when == "" {
		when = settings["vcs.time"]
	}
	return out + "\ncommit " + cmp.Or(rev, "unknown") + "\ndate   " + cmp.Or(when, "unknown") + "\n" + info.GoVersion + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// plain returns the text of an error for the person who starts the program: without the
// SQLSTATE, which is for clients, and with the hint.
func plain(err error) string {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	out := strings.Replace(err.Error(), string(e.Code)+": ", "", 1)
	for _, more := range []string{e.Detail, e.Hint} {
		if more != "" && !strings.Contains(out, more) {
			out += "\n" + more
		}
	}
	return out
}

func main() {
	// The signals are taken until the process ends: one that comes while it does would kill it otherwise.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name := os.Args[1]
	if long, ok := asFlag[name]; ok {
		name = long
	}
	for _, c := range commands {
		if c.name != name {
			continue
		}
		err := c.run(ctx, os.Args[2:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return
		default:
			fmt.Fprintln(os.Stderr, "tributary "+name+":", plain(err))
			os.Exit(1)
		}
	}
	fmt.Fprintf(os.Stderr, "tributary: there is no command %q\n\n", name)
	usage(os.Stderr)
	os.Exit(2)
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Tributary is a Postgres-wire SQL database that trains models where the data is.\n\nUsage: tributary COMMAND [flags]\n\nCommands:")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprintln(w, "\n`tributary COMMAND --help` lists a command's flags.")
}
