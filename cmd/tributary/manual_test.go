package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cmd/bench"
	"github.com/tributarydb/tributary/cmd/shell"
	"github.com/tributarydb/tributary/internal/manual"
)

const prompt, more = "tributary=# ", "tributary-# "

// These parts of the output differ from run to run: how long a training took, and its progress.
var (
	elapsed  = regexp.MustCompile(`^(seconds +\| ).*`)
	progress = regexp.MustCompile(`^NOTICE: +training `)
)

// TestManualExamples runs the manual's examples, the blocks marked console, and compares their output.
// All examples of a page run in one session of a new node, whose working directory is that of the
// module.
func TestManualExamples(t *testing.T) {
	for _, page := range []string{"README.md", "docs/sql.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			dsn, stop, err := benchNode(t.Context(), bench.NodeOptions{Data: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			t.Chdir(manual.Root(t))
			manual.Page(t, page, func(text string) string { return runExamples(t, dsn, text) })
		})
	}
}

// runExamples returns the page with the output of its examples as it is now.
func runExamples(t *testing.T, dsn, page string) string {
	f := &feeder{}
	parts := strings.Split(page, "```console\n")
	var blocks []int // the number of statements in each block
	for i, p := range parts[1:] {
		body, rest, ok := strings.Cut(p, "\n```")
		if !ok {
			t.Fatal("a block has no end")
		}
		n := len(f.statements)
		open := false
		for _, l := range strings.Split(body, "\n") {
			if s, ok := strings.CutPrefix(l, prompt); ok {
				f.statements = append(f.statements, s)
				open = !strings.HasSuffix(s, ";")
			} else if s, ok := strings.CutPrefix(l, more); ok && open {
				f.statements[len(f.statements)-1] += "\n" + s
				open = !strings.HasSuffix(s, ";")
			}
		}
		blocks = append(blocks, len(f.statements)-n)
		parts[i+1] = "\n```" + rest
	}
	if err := shell.Main(t.Context(), []string{"--dsn", dsn}, shell.IO{In: f, Out: &f.out, Err: &f.out}, nil); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(parts[0])
	next := 0
	for i, n := range blocks {
		var block strings.Builder
		for range n {
			block.WriteString(prompt + strings.ReplaceAll(f.statements[next], "\n", "\n"+more) + "\n")
			for _, l := range strings.Split(strings.TrimRight(f.outputs[next], "\n"), "\n") {
				l = elapsed.ReplaceAllString(strings.TrimRight(l, " "), "$1…")
				if strings.HasPrefix(l, "-[ RECORD") {
					l = l[:min(len(l), 40)]
				}
				if l != "" && !progress.MatchString(l) {
					block.WriteString(l + "\n")
				}
			}
			next++
		}
		b.WriteString("```console\n" + strings.TrimRight(block.String(), "\n") + parts[i+1])
	}
	return b.String()
}

// feeder is the shell's input: it returns the next statement when the shell reads again, and so keeps
// the output of each statement apart.
type feeder struct {
	statements, outputs []string
	next                int
	rest                string
	out                 strings.Builder
}

func (f *feeder) Read(p []byte) (int, error) {
	if f.rest == "" {
		if f.next > 0 && len(f.outputs) < f.next {
			f.outputs = append(f.outputs, f.out.String())
			f.out.Reset()
		}
		if f.next == len(f.statements) {
			return 0, io.EOF
		}
		f.rest = f.statements[f.next] + "\n"
		f.next++
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// TestManualFlags: the manual lists the flags of serve as --help prints them.
func TestManualFlags(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "serve", "-h").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The default of --threads depends on the machine.
	text := regexp.MustCompile(`\(default \d+\)`).ReplaceAllString(string(out), "(default: the cores that the cgroup allows)")
	text = regexp.MustCompile(` \(default "([^"]*)"\)`).ReplaceAllString(text, " (default: `$1`)")
	var rows [][]string
	for _, f := range regexp.MustCompile(`(?m)^  --?(\S+)(?: \S+)?\n\s+(.*)$`).FindAllStringSubmatch(text, -1) {
		rows = append(rows, []string{"`--" + f[1] + "`", f[2]})
	}
	if len(rows) != strings.Count(text, "\n  -") {
		t.Errorf("%d flags are understood of\n%s", len(rows), text)
	}
	manual.Part(t, "docs/operations.md", "flags", manual.Table([]string{"flag", "meaning"}, rows))
}
