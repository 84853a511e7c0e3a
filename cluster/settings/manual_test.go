package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// effective are the settings that have an effect; the others are accepted,
// checked and shown, because clients set them.
var effective = []string{"application_name", "auto_explain.log_analyze", "auto_explain.log_format", "auto_explain.log_level", "auto_explain.log_min_duration", "auto_explain.log_timing", "auto_explain.sample_rate", "batch_size", "bytea_output", "client_encoding", "client_min_messages", "datestyle", "default_transaction_isolation",
	"default_transaction_read_only", "dialect", "extra_float_digits", "idle_in_transaction_session_timeout", "idle_session_timeout", "intervalstyle", "log_min_duration_statement", "role", "search_path", "session_authorization",
	"memory", "statement_timeout", "storage_backups", "storage_commit", "threads", "timezone", "transaction_isolation", "transaction_read_only", "transaction_timeout", "tributary.colocate", "tributary.distribute_cost", "tributary.as_of", "tributary.distribute_rows", "tributary.finalize_after", "tributary.group_rows", "tributary.keep_datasets", "tributary.otlp_endpoint", "tributary.retention", "tributary.shared_directories", "voters", "work_mem", "worker_saturation"}

// TestManualSettings: the manual lists the settings, those with an effect apart from the others.
func TestManualSettings(t *testing.T) {
	var rows [][]string
	var inert, fixed []string
	left := slices.Clone(effective)
	for _, d := range All() {
		i := slices.Index(left, d.Name)
		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
			kind := string(d.Kind)
			if d.Kind == Enum {
				kind = strings.Join(d.Enum, ", ")
			}
			if kind == string(Bool) {
				kind = "boolean"
			}
			if d.Unit != "" {
				kind += " in " + d.Unit + ", or with a unit"
			}
			def := d.Show(d.Default)
			if def == "" {
				def = "(empty)"
			}
			rows = append(rows, []string{"`" + d.ShowName() + "`", kind, def, d.Desc})
		case d.inert && !d.OfSession():
		case d.Context == Internal:
			fixed = append(fixed, "`"+d.ShowName()+"`")
		default:
			inert = append(inert, d.ShowName())
		}
	}
	if len(left) > 0 {
		t.Errorf("there are no settings %v", left)
	}
	slices.SortFunc(inert, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	manual.Part(t, "docs/reference/settings.md", "settings", manual.Table([]string{"setting", "values", "default", "meaning"}, rows))
	manual.Part(t, "docs/reference/settings.md", "fixed", "These can only be read: "+strings.Join(fixed, ", ")+
		", and the settings of PostgreSQL's own server (`autovacuum`, `archive_mode` and the like).")
	manual.Part(t, "docs/reference/settings.md", "inert", manual.Initials(inert))
}
