package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/storage"
	"github.com/tributarydb/tributary/cmd/flags"
	"github.com/tributarydb/tributary/exec/object"
)

// serveSettings are what the command line and the configuration file say.
type serveSettings struct {
	options                          node.Options
	listenPG, listenHTTP             string
	joinSecret, certs, config, audit string
	metricsToken                     string
	logs                             func(io.Writer) slog.Handler
	insecure                         bool
}

// readServe reads and checks what a node is started with.
func readServe(args []string) (*serveSettings, error) {
	return readSettings(flags.New("serve", ""), args, os.Getenv)
}

// readSettings reads the flags of a node into its settings: a flag comes before its environment variable,
// that before the configuration file, that before the default.
func readSettings(fs *flags.Set, args []string, getenv func(string) string) (*serveSettings, error) {
	var s serveSettings
	o := &s.options
	fs.StringVar(&s.listenPG, "listen-pg", "127.0.0.1:5432", "address for Postgres clients")
	fs.StringVar(&s.listenHTTP, "listen-http", "127.0.0.1:8080", "address of the console and the metrics")
	fs.StringVar(&o.ListenCluster, "listen-cluster", "127.0.0.1:7400", "address for other nodes")
	fs.StringVar(&o.Advertise, "advertise", "", "address at which other nodes reach this one (default: --listen-cluster)")
	join := fs.String("join", "", "addresses of members to ask for admission, separated by commas; needed on the first start only")
	fs.StringVar(&o.Data, "data", "./tributary-data", "directory of the node's data")
	fs.StringVar(&o.Temp, "temp", "", "directory for temporary files (default: within --data)")
	objects := fs.String("object-cache", "1GiB", "disk, within --temp, for what is read from object stores (s3://); 0 for none")
	fs.StringVar(&o.Storage, "storage", "", "s3://bucket/prefix where the cluster keeps its files, its nodes' disks being a cache; an empty node begins with the cluster that is there (default: the nodes' disks)")
	cache := fs.String("storage-cache", "0", "disk for copies of files that are in --storage; 0 for what there is room for")
	fs.StringVar(&o.Name, "node", "", "name of the node (default: made from its id)")
	fs.StringVar(&o.Zone, "zone", "", "the failure domain of the node, such as a rack: copies and votes are spread over zones")
	fs.StringVar(&s.joinSecret, "join-secret", "", "file with the secret of the cluster to join, such as the cluster-secret of a member's data directory; or its text is in the environment as TRIBUTARY_JOIN_SECRET, its file as TRIBUTARY_JOIN_SECRET_FILE. Not needed with --certs")
	fs.StringVar(&s.certs, "certs", "", "directory with ca.crt, node.crt and node.key (see tributary cert)")
	fs.StringVar(&s.metricsToken, "metrics-token", "", "file with a token that lets who sends it (Authorization: Bearer …) read /metrics, as Prometheus does with credentials_file")
	memory := fs.String("memory", "", "memory the process may use, such as 4GiB (default: 70 % of the machine's or the cgroup's)")
	fs.IntVar(&o.Threads, "threads", cores, "threads for queries and training")
	scrub := fs.String("scrub-rate", "32MiB", "bytes a second at which the segments are read to find damage; 0 for never")
	fs.DurationVar(&o.ScrubEvery, "scrub-every", 24*time.Hour, "time from the end of one reading of all segments to the next")
	fs.StringVar(&s.config, "config", "", "file with the same names in YAML; what is given here or as TRIBUTARY_… in the environment counts more")
	fs.Func("testing", "how often the node does what it does by itself, for tests: sweep=1s,tick=100ms,grace=1s,audit=1s,segment-rows=4096,snapshot=100; and without=learning+writing, what of its deviations from raft it does not do", func(s string) error {
		return pace(&o.Pace, s)
	})
	s.logs = textLog
	fs.Func("log-format", "form of the records of the logs: text, or json with an object a line (default: text)", func(form string) error {
		switch form {
		case "text":
			s.logs = textLog
		case "json":
			s.logs = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) }
		default:
			return fmt.Errorf("it is text or json, not %q", form)
		}
		return nil
	})
	fs.StringVar(&s.audit, "audit-log", "", "file that takes the audit log (default: the server's log)")
	fs.BoolVar(&s.insecure, "insecure", false, "listen beyond loopback without TLS and passwords")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err := fs.Environment(getenv); err != nil {
		return nil, err
	}
	if err := configFile(fs, s.config); err != nil {
		return nil, err
	}
	var err error
	if o.Memory, err = nodeMemory(*memory); err != nil {
		return nil, err
	}
	all := fs.Given() // with what the environment and the file say
	o.FixedMemory, o.FixedThreads = all["memory"], all["threads"]
	if *scrub != "0" {
		if o.ScrubRate, err = memoryLimit(*scrub); err != nil {
			return nil, err
		}
	}
	if *cache != "0" {
		if o.StorageCache, err = memoryLimit(*cache); err != nil {
			return nil, fmt.Errorf("--storage-cache: %w", err)
		}
	}
	if o.Storage != "" {
		if o.Storage, err = storage.Place(o.Storage); err != nil {
			return nil, fmt.Errorf("--storage: %w", err)
		}
	}
	if *objects != "0" {
		if o.ObjectCache, err = memoryLimit(*objects); err != nil {
			return nil, fmt.Errorf("--object-cache: %w", err)
		}
		if err := object.ParseLimit(o.ObjectCache); err != nil {
			return nil, err
		}
	}
	if *join != "" {
		o.Join = strings.Split(*join, ",")
	}
	for _, addr := range []string{s.listenPG, s.listenHTTP, o.ListenCluster} {
		if err := guardListen(addr, s.insecure || s.certs != ""); err != nil {
			return nil, err
		}
	}
	return &s, nil
}

// textLog writes records of level Info and above as lines of key=value.
func textLog(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }

// leastMemory is what a node can work with at all, as the setting memory has it.
const leastMemory = 128 << 20

// nodeMemory is memoryLimit for a node: a limit that every write would fail in is refused, with what was probably meant.
func nodeMemory(given string) (int64, error) {
	n, err := memoryLimit(given)
	if err != nil || given == "" || n >= leastMemory {
		return n, err
	}
	if _, err := strconv.ParseFloat(given, 64); err == nil {
		return 0, fmt.Errorf("--memory %s is so many bytes, and a node needs 128MiB at least; did you mean %sGiB?", given, given)
	}
	return 0, fmt.Errorf("--memory %s is too little: a node needs 128MiB at least", given)
}

func serve(ctx context.Context, args []string) error {
	given, err := readServe(args)
	if err != nil {
		return err
	}
	o := given.options
	if o.Secret, err = secretGiven(ctx, given.joinSecret); err != nil {
		return err
	}
	o.Log = slog.New(given.logs(os.Stderr))
	if given.audit != "" {
		file, err := os.OpenFile(given.audit, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		o.Audit = slog.New(given.logs(file))
	}
	access, err := loadAccess(given.config, given.certs, given.metricsToken)
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	o.Reload = func() { // pg_reload_conf()
		select {
		case hup <- syscall.SIGHUP:
		default: // it is about to be read
		}
	}
	s, err := startServer(ctx, o, given.listenPG, given.listenHTTP, given.insecure, access)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // asked to end while it waited for its cluster
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; is a server there already? give another address with --listen-pg, --listen-http or --listen-cluster", err)
	}
	if err != nil {
		return err
	}
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tell(o.Log, "READY=1")
	fmt.Printf("ready pg=%s http=%s cluster=%s node=%s\n", s.pg.Addr(), s.http.Addr(), s.node.ClusterAddr(), s.node.Name())
	for serving := true; serving; {
		serving = false
		select {
		case <-ctx.Done():
		case err = <-s.failed:
		case err = <-s.node.Failed():
		case <-s.node.Gone():
			o.Log.Info("the node was removed from its cluster and stops", "node", s.node.Name())
		case <-hup:
			serving = true
			tell(o.Log, reloading())
			// A file that the next start refused must not pass now.
			_, rerr := readServe(args)
			if rerr == nil {
				rerr = access.reload()
			}
			if rerr != nil {
				s.log.Error("rules and certificates stay as they were", "error", rerr)
				s.node.Event("reload", "error", s.node.Name(), "rules and certificates stay as they were")
			} else {
				s.log.Info("rules and certificates are read again")
				s.node.Event("reload", "info", s.node.Name(), "rules and certificates are read again")
			}
			tell(o.Log, "READY=1")
		}
	}
	tell(o.Log, "STOPPING=1")
	if cerr := s.close(10 * time.Second); err == nil {
		err = cerr
	}
	return err
}

// configFile sets the flags that were not given from a YAML file.
func configFile(fs *flags.Set, path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	given := fs.Given()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "hba" {
			continue // see access.go
		}
		if fs.Lookup(name) == nil || name == "config" {
			return fmt.Errorf("%s: there is no setting %q", path, name)
		}
		if !given[name] {
			if err := fs.Set(name, fmt.Sprint(values[name])); err != nil {
				return fmt.Errorf("%s: %s: %w", path, name, err)
			}
		}
	}
	return nil
}

// pace parses the value of --testing.
func pace(p *node.Pace, s string) (err error) {
	for _, item := range strings.Split(s, ",") {
		name, value, _ := strings.Cut(item, "=")
		switch name {
		case "sweep":
			p.Sweep, err = time.ParseDuration(value)
		case "tick":
			p.Tick, err = time.ParseDuration(value)
		case "grace":
			p.Grace, err = time.ParseDuration(value)
		case "audit":
			p.Audit, err = time.ParseDuration(value)
		case "segment-rows":
			p.SegmentRows, err = strconv.ParseInt(value, 10, 64)
		case "snapshot":
			p.Snapshot, err = strconv.ParseUint(value, 10, 64)
		case "without":
			p.Without, err = raftnode.ParseDeviations(value)
		default:
			err = fmt.Errorf("there is no %q to set", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// secretWait is how long a joining node waits for the first node to create the secret:
// nodes may be started all at once.
const secretWait = 10 * time.Second

// secretGiven returns the cluster's secret of --join-secret or the environment; zero
// for none.
func secretGiven(ctx context.Context, file string) (rpc.Secret, error) {
	if file != "" {
		ctx, cancel := context.WithTimeout(ctx, secretWait)
		defer cancel()
		for {
			s, err := raftnode.ReadSecret(file)
			if !errors.Is(err, fs.ErrNotExist) {
				return s, err
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return s, err
			}
		}
	}
	const name = "TRIBUTARY_JOIN_SECRET"
	text := os.Getenv(name)
	if text == "" {
		return rpc.Secret{}, nil
	}
	s, err := rpc.ParseSecret(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// guardListen returns an error for an address beyond loopback, unless insecure is set.
func guardListen(addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listening on %s needs TLS and passwords; give --insecure to do without", addr)
}

// memoryLimit parses a size such as 512MiB; empty is 70 % of the available memory.
func memoryLimit(s string) (int64, error) {
	if s == "" {
		return availableMemory() * 7 / 10, nil
	}
	units := []struct {
		name string
		n    int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}
	for _, u := range units {
		if v, ok := strings.CutSuffix(s, u.name); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil || f <= 0 {
				break
			}
			return int64(f * float64(u.n)), nil
		}
	}
	return 0, fmt.Errorf("size %q is not understood; try 4GiB", s)
}

// availableMemory returns the cgroup's limit or the machine's memory, in bytes.
func availableMemory() int64 {
	total := int64(4 << 30)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int64
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err == nil {
			total = kb << 10
		}
	}
	own, _ := os.ReadFile("/proc/self/cgroup") // none elsewhere
	for _, p := range append(cgroupLimits(string(own)), "/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		if b, err := os.ReadFile(p); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && n < total {
				total = n
			}
		}
	}
	return total
}

// cgroupLimits returns the files of the limits that hold for a process, of which proc is /proc/self/cgroup: those
// of its own cgroup, such as the unit's of a service manager, and of those above it.
func cgroupLimits(proc string) (files []string) {
	own := "/"
	for _, line := range strings.Split(proc, "\n") {
		if p, ok := strings.CutPrefix(line, "0::/"); ok {
			own += p
		}
	}
	for dir := path.Clean(own); ; dir = path.Dir(dir) {
		files = append(files, path.Join("/sys/fs/cgroup", dir, "memory.max"))
		if dir == "/" {
			return files
		}
	}
}
