package session

import (
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/settings"
)

// autoExplain is what the settings auto_explain.* say.
type autoExplain struct {
	least time.Duration // how long a statement takes whose plan the log has; below 0: none's
	share float64       // of these
	form  observe.PlanForm
	level slog.Level
}

func autoExplainOf(set *settings.Set) autoExplain {
	a := autoExplain{least: time.Duration(set.Int("auto_explain.log_min_duration")) * time.Millisecond}
	a.share, _ = strconv.ParseFloat(set.Value("auto_explain.sample_rate"), 64)
	a.form = observe.PlanForm{Actual: set.Bool("auto_explain.log_analyze"), Times: set.Bool("auto_explain.log_timing"), JSON: set.Value("auto_explain.log_format") == "json"}
	switch l := set.Value("auto_explain.log_level"); {
	case strings.HasPrefix(l, "debug"):
		a.level = slog.LevelDebug
	case l == "warning":
		a.level = slog.LevelWarn
	}
	return a
}

// wants reports whether the log is to have the plan of a statement that took so long. Of a sample it is drawn.
func (a *autoExplain) wants(took time.Duration) bool {
	return a.least >= 0 && took >= a.least && (a.share >= 1 || rand.Float64() < a.share)
}
