package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDemo: the model is worth something on rows it has not seen, both trainings give the same bytes, and what is said
// to be done next can be done.
func TestDemo(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, "demo")
	c.Stderr = os.Stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(text.String(), "your.csv"); {
		n, err := stdout.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v: %v\n%s", err, c.Wait(), text.String())
		}
	}
	out := text.String()
	find := func(pattern string) []string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("there is no %s in\n%s", pattern, out)
		}
		return m[1:]
	}
	measures := find(`roc_auc \n.*\n +(\S+) \| +(\S+) \| +(\S+) \| +(\S+)\n`) // accuracy, precision, recall, roc_auc
	for i, least := range []float64{0.6, 0.3, 0.5, 0.71} {
		if v, err := strconv.ParseFloat(measures[i], 64); err != nil || v < least {
			t.Errorf("measure %d is %q", i, measures[i])
		}
	}
	for _, cell := range append(find(` f +\| +(\d+) \| +(\d+)\n`), find(` t +\| +(\d+) \| +(\d+)\n`)...) {
		if n, err := strconv.Atoi(cell); err != nil || n < 1000 {
			t.Errorf("a cell of the confusion matrix is %q", cell)
		}
	}
	find(`Both models have the same bytes`)
	answer, err := http.Get(find(`(http://\S+/) +the console`)[0])
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the console says %s", answer.Status)
	}
	words := strings.Fields(find(`\n +(\S+ sql -h \S+ -p \d+)\n`)[0])
	query := append(words[1:], "-Atc", "SELECT count(*) FROM ml.feature_importance('late')")
	if got, err := exec.CommandContext(t.Context(), words[0], query...).CombinedOutput(); err != nil || strings.TrimSpace(string(got)) != "6" {
		t.Errorf("%q: %v %s", query, err, got)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
