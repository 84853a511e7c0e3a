package settings

import (
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func clientEncoding(v string) (string, error) {
	if strings.EqualFold(v, "default") {
		return "UTF8", nil
	}
	_, name, known, err := charset.Find(v)
	switch {
	case !known:
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "client_encoding", v)
	case err != nil:
		return "", pgerr.Unsupported("invalid value for parameter %q: %q", "client_encoding", v).WithDetail("Conversion between %s and UTF8 is not supported.", name)
	}
	return name, nil
}

func onlyOn(v string) (string, error) {
	if b, ok := parseBool(v); ok && b {
		return "on", nil
	}
	return "", pgerr.Unsupported("standard_conforming_strings can only be on")
}

func synchronousCommit(v string) (string, error) {
	switch l := strings.ToLower(v); l {
	case "on", "local", "remote_write", "remote_apply":
		return l, nil
	case "off", "false", "no", "0":
		return "", pgerr.Unsupported("synchronous_commit cannot be turned off").
			WithHint("A commit is acknowledged once a majority of nodes has it on disk.")
	case "true", "yes", "1":
		return "on", nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "synchronous_commit", v)
}

// explainFormat takes the formats in which the log has plans.
func explainFormat(v string) (string, error) {
	switch l := strings.ToLower(v); l {
	case "text", "json":
		return l, nil
	case "xml", "yaml":
		return "", pgerr.Unsupported("auto_explain.log_format cannot be %q", l).WithHint("There are text and json.")
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "auto_explain.log_format", v).WithHint("Available values: text, json.")
}

// endpoint takes the URL of a collector. It is shown to everyone, so it cannot have a password; nor can the error.
func endpoint(v string) (string, error) {
	if v = strings.TrimSpace(v); v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q", "tributary.otlp_endpoint").WithHint("Give http://HOST:PORT or https://HOST:PORT.")
	}
	return v, nil
}

// fraction takes a number from 0 to 1.
func fraction(v string) (string, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	switch {
	case err != nil || math.IsNaN(f):
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "auto_explain.sample_rate", v)
	case f < 0 || f > 1:
		return "", pgerr.New(pgerr.InvalidParameterValue, "%g is outside the valid range for parameter %q (%d .. %d)", f, "auto_explain.sample_rate", 0, 1)
	}
	return strings.TrimSpace(v), nil
}

// oddOrZero takes how many members vote: an even number outlives no more losses
// than the odd one below it, and is sooner without a majority.
func oddOrZero(v string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 0 || n > 15 || n > 0 && n%2 == 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "voters", v).
			WithHint("Give an odd number up to 15, or 0 to leave it to the cluster.")
	}
	return strconv.Itoa(n), nil
}

// leastMemory is what a node can work with at all, in kB.
const leastMemory = 128 << 10

func nodeMemory(v string) (string, error) {
	n, err := parseUnits(v, "kB")
	if err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "memory", v)
	}
	if n != 0 && (n < leastMemory || n > maxInt) {
		return "", pgerr.New(pgerr.InvalidParameterValue, "%d kB is outside the valid range for parameter %q (%d .. %d)", n, "memory", leastMemory, int64(maxInt))
	}
	return strconv.FormatInt(n, 10), nil
}

// retention takes a length of time.
func retention(v string) (string, error) {
	v = strings.TrimSpace(v)
	if _, ok := catalog.ParseRetention(v); !ok {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", catalog.SettingRetention, v).
			WithHint("Give a length of time, such as 30min, 1h or 7 days.")
	}
	return v, nil
}

// archivePlace takes a place for backups.
func archivePlace(v string) (string, error) {
	if v = strings.TrimSpace(v); v == "" {
		return v, nil
	}
	return backup.Path(v)
}

// asOf takes a time, or an interval up to now. Which time it is depends on the transaction.
func asOf(v string) (string, error) {
	if v = strings.TrimSpace(v); v == "" {
		return v, nil
	}
	if _, err := datetime.ParseTimestamptz(v, nil); err == nil {
		return v, nil
	}
	if _, err := datetime.ParseInterval(v, -1, nil); err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "tributary.as_of", v).
			WithHint("Give a timestamp, or an interval such as -10 minutes.")
	}
	return v, nil
}

// directories makes absolute paths of a list.
func directories(v string) (string, error) {
	var out []string
	for d := range strings.SplitSeq(v, ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		if !filepath.IsAbs(d) {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "tributary.shared_directories", v).
				WithDetail("%q is not an absolute path.", d)
		}
		out = append(out, filepath.Clean(d))
	}
	return strings.Join(out, ", "), nil
}

// Directories are those that a setting names.
func Directories(v string) []string {
	if v == "" {
		return nil
	}
	return strings.Split(v, ", ")
}
