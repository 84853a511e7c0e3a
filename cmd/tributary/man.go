package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tributarydb/tributary/cmd/flags"
)

// manPages writes manual pages, made from the commands' own flags.
func manPages(_ context.Context, args []string) error {
	fs := flags.New("man", "Usage: tributary man [--dir man]\n")
	dir := fs.String("dir", "man", "directory for the pages")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	for name, text := range pages() {
		if err := os.WriteFile(filepath.Join(*dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pages returns the manual pages by the names of their files.
func pages() map[string][]byte {
	out := map[string][]byte{}
	page := func(name, short string) *bytes.Buffer {
		b := &bytes.Buffer{}
		fmt.Fprintf(b, ".TH %s 1 \"\" \"tributary %s\" \"Tributary\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), troff(version), troff(name), troff(short))
		return b
	}
	top := page("tributary", "a Postgres-wire SQL database that trains models where the data is")
	fmt.Fprint(top, ".SH SYNOPSIS\n\\fBtributary\\fR \\fICOMMAND\\fR [flags]\n.SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(top, ".TP\n\\fB%s\\fR\n%s\n", c.name, troff(c.short))
		if !c.hasFlags() {
			continue
		}
		fs := flags.Of(func() { _ = c.run(context.Background(), []string{"--help"}) })
		b := page("tributary-"+c.name, c.short)
		fmt.Fprintf(b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", troff(strings.TrimSpace(strings.TrimPrefix(fs.Text, "Usage:"))))
		fmt.Fprint(b, ".SH FLAGS\nFlags stand before or after the other arguments.\n")
		fs.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR", troff(dashed(f)))
			if value != "" {
				fmt.Fprintf(b, " \\fI%s\\fR", troff(value))
			}
			fmt.Fprintf(b, "\n%s", troff(usage))
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.Name != "threads" {
				fmt.Fprintf(b, " (default %s)", troff(f.DefValue))
			}
			if c.name == "serve" {
				fmt.Fprintf(b, "; in the environment %s", flags.Variable(f.Name))
			}
			fmt.Fprintln(b)
		})
		fmt.Fprint(b, ".SH SEE ALSO\n\\fBtributary\\fR(1)\n")
		out["tributary-"+c.name+".1"] = b.Bytes()
	}
	out["tributary.1"] = top.Bytes()
	return out
}

// troff escapes text.
func troff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
