package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cmd/shell"
	"github.com/tributarydb/tributary/internal/manual"
)

const prompt, more = "tributary=# ", "tributary-# "

// These parts of the output differ from run to run: how long a training took, and its progress.
var (
	elapsed  = regexp.MustCompile(`^(seconds +\| ).*`)
	progress = regexp.MustCompile(`^NOTICE: +training `)
	training = regexp.MustCompile(`^(RE)?TRAIN `)
	failed   = regexp.MustCompile(`(?i)\berror: `)
)

// resultTable is a result of one row, not expanded.
var resultTable = regexp.MustCompile(`(?m)^ +model +\|.*\n-+\+.*\n(?: .*\n)*\(1 row\)\n`)

// TestManualExamples runs the manual's examples. Each page has a session and a schema public of its
// own. The output of blocks marked console is compared. Blocks marked sql of how-tos and tutorials must
// run without an error, and so must what <!-- run … --> hides, the rows that a page takes for granted.
// The working directory has the repository's cmd, and takes files that examples write.
func TestManualExamples(t *testing.T) {
	root := manual.Root(t)
	dsn, stop, err := testNode(t.Context(), shell.EngineOptions{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	for i, page := range append([]string{"README.md"}, manual.Pages(t)...) {
		if strings.HasPrefix(page, "docs/decisions/") || testing.Short() && i%6 != 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			manual.Page(t, page, func(text string) string {
				t.Chdir(t.TempDir())
				if err := os.Symlink(filepath.Join(root, "cmd"), "cmd"); err != nil {
					t.Fatal(err)
				}
				return runExamples(t, dsn, text, example(page))
			})
		})
	}
}

// example matches what is run of a page: blocks, and hidden statements.
func example(page string) *regexp.Regexp {
	if strings.HasPrefix(page, "docs/howto/") || strings.HasPrefix(page, "docs/tutorials/") {
		return regexp.MustCompile("(?ms)^```(console|sql)\n(.*?)\n```$|^<!-- (run)\n(.*?)\n-->$")
	}
	return regexp.MustCompile("(?ms)^```(console)\n(.*?)\n```$|^<!-- (run)\n(.*?)\n-->$")
}

// runExamples returns the page with the output of its examples as it is now.
func runExamples(t *testing.T, dsn, page string, examples *regexp.Regexp) string {
	f := &feeder{statements: []string{"DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;"}}
	var counts []int // the number of statements in each block
	for _, m := range examples.FindAllStringSubmatch(page, -1) {
		n := len(f.statements)
		if m[1] != "console" {
			f.statements = append(f.statements, m[2]+m[4])
		} else {
			open := false
			for _, l := range strings.Split(m[2], "\n") {
				if s, ok := strings.CutPrefix(l, prompt); ok {
					f.statements = append(f.statements, s)
					open = !strings.HasSuffix(s, ";")
				} else if s, ok := strings.CutPrefix(l, more); ok && open {
					f.statements[len(f.statements)-1] += "\n" + s
					open = !strings.HasSuffix(s, ";")
				}
			}
		}
		counts = append(counts, len(f.statements)-n)
	}
	if len(counts) == 0 {
		return page
	}
	if err := shell.Main(t.Context(), []string{"--dsn", dsn}, shell.IO{In: f, Out: &f.out, Err: &f.out}, nil); err != nil {
		t.Fatal(err)
	}
	next, block := 1, 0
	return examples.ReplaceAllStringFunc(page, func(text string) string {
		first := next
		next += counts[block]
		block++
		if !strings.HasPrefix(text, "```console\n") {
			if failed.MatchString(f.outputs[first]) {
				t.Errorf("%s\n%s", f.statements[first], f.outputs[first])
			}
			return text
		}
		var b strings.Builder
		for i := first; i < next; i++ {
			b.WriteString(prompt + strings.ReplaceAll(f.statements[i], "\n", "\n"+more) + "\n")
			if rows := resultTable.FindString(f.outputs[i]); rows != "" && training.MatchString(f.statements[i]) {
				f.outputs[i] = strings.Replace(f.outputs[i], rows, "…\n", 1) // has the time it took, and is wide
			}
			for _, l := range strings.Split(strings.TrimRight(f.outputs[i], "\n"), "\n") {
				l = elapsed.ReplaceAllString(strings.TrimRight(l, " "), "$1…")
				if strings.HasPrefix(l, "-[ RECORD") {
					l = l[:min(len(l), 40)]
				}
				if l != "" && !progress.MatchString(l) {
					b.WriteString(l + "\n")
				}
			}
		}
		return "```console\n" + b.String() + "```"
	})
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
	manual.Part(t, "docs/reference/flags.md", "flags", manual.Table([]string{"flag", "meaning"}, rows))
}
