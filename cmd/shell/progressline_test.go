package shell

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLive: what is drawn is erased before anything else is printed, and nothing is drawn after the end.
func TestLive(t *testing.T) {
	var out strings.Builder
	s := &session{io: IO{Out: &out, Err: &out, Size: func() (int, int) { return 60, 24 }}}
	l := &live{s: s, stop: func() {}}
	p := progress{memory: 3 << 20, read: 1234567, total: 2469134, queue: "n2 at place 1"}
	l.draw(p.lines(1500*time.Millisecond, 60, 24))
	want := faint + "1.5 s   waits on n2 at place 1   ▕█████     ▏ 50%   1,234,…" + plain
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	l.aside(func(training bool) {
		out.WriteString("NOTICE\n")
		if training {
			t.Error("there is no training")
		}
	})
	if out.String() != "\r\x1b[JNOTICE\n" {
		t.Errorf("%q", out.String())
	}
	p = progress{model: "m", phase: "iterate", iterations: 3, at: []float64{1, 2, 3}, losses: []curve{{"train", []float64{3, 2, 1}}, {"validation", []float64{math.NaN(), math.NaN(), math.NaN()}}}}
	lines := p.lines(time.Minute, 60, 24)
	if len(lines) != curveRows+2 || !strings.Contains(lines[0], "training m: iterate, iteration 3") || !strings.Contains(lines[1], "train loss 1") || strings.Contains(lines[1], "validation") {
		t.Errorf("%q", lines)
	}
	if lines := p.lines(time.Minute, 60, 2*curveRows); len(lines) != 1 {
		t.Errorf("%d lines on a low terminal", len(lines))
	}
	l.draw(lines)
	out.Reset()
	l.end()
	l.draw(lines)
	l.end()
	if out.String() != "\r\x1b[7A\x1b[J" {
		t.Errorf("%q", out.String())
	}
}

// TestCurves: a line goes from the lowest to the highest value, and what is missing interrupts it.
func TestCurves(t *testing.T) {
	got := curves([]float64{0, 1, 2, 3}, []curve{{"y", []float64{0, 1, math.NaN(), 10}}}, 20, 3, false)
	if len(got) != 3 || !strings.HasPrefix(got[0], "10 ┤") || !strings.HasPrefix(got[2], " 0 ┤") || !strings.Contains(got[0], "⠈") {
		t.Errorf("%q", got)
	}
	if got := curves([]float64{1}, []curve{{"y", []float64{math.NaN()}}}, 20, 3, false); got != nil {
		t.Errorf("%q", got)
	}
	if got := bars([]string{"a", "日本"}, []float64{-1, 2}, 30); got[0] != "   a │███████ -1" || got[1] != "日本 │       ██████████████ 2" {
		t.Errorf("%q", got)
	}
}

// TestHabits: what other shells know gets a hint, and statements do not.
func TestHabits(t *testing.T) {
	for in, want := range map[string]string{".tables": `\dt`, "SHOW  DATABASES": `\l`, ".nothing x": `\?`, "describe t": `\d NAME`, "select 1": "", "shower": "", "user": ""} {
		if got := instead(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
	if dotted("  .5 + 1") || !dotted(".mode csv") {
		t.Error("dotted")
	}
}
