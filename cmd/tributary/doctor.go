package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cmd/flags"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const doctorUsage = `Usage: tributary doctor [flags of serve] [--url URL]

Says what is wrong, and what to do, with the machine and the directory of a node that is or would be
started with these flags; with the members that --join names or the directory knows; and, with
--url, with the nodes of a running cluster. Run it as the node's user. It ends with 1 if a line
says fail.
`

// report is what the doctor found so far.
type report struct {
	out    io.Writer
	failed int
}

func (r *report) ok(what, format string, args ...any) { r.line("ok", what, format, args...) }

// warn and fail say in their text what to do.
func (r *report) warn(what, format string, args ...any) { r.line("warn", what, format, args...) }
func (r *report) fail(what, format string, args ...any) {
	r.failed++
	r.line("fail", what, format, args...)
}

func (r *report) line(level, what, format string, args ...any) {
	fmt.Fprintf(r.out, "%-4s  %-14s  %s\n", level, what, fmt.Sprintf(format, args...))
}

func doctor(ctx context.Context, args []string) error { return examine(ctx, args, os.Stdout) }

func examine(ctx context.Context, args []string, out io.Writer) error {
	fs := flags.New("doctor", doctorUsage)
	url := fs.String("url", "", "a node to ask about the others, as postgres://user@host:port/database")
	s, err := readSettings(fs, args, os.Getenv)
	r := &report{out: out}
	switch {
	case err == nil:
		r.ok("settings", "flags, environment and configuration file are understood")
		r.access(s)
		r.machine(s)
		members := r.directory(s.options.Data)
		r.peers(ctx, slices.Concat(s.options.Join, members))
		if *url != "" {
			r.cluster(ctx, *url)
		}
	case fs.Lookup("data") == nil || wrongFlags(fs, args):
		return err // it, or the help, was printed
	default:
		r.fail("settings", "%s; a node with these does not start", plain(err))
	}
	if r.failed > 0 {
		return fmt.Errorf("%d of the lines above say fail", r.failed)
	}
	return nil
}

// wrongFlags reports whether the command line itself is not understood.
func wrongFlags(fs *flags.Set, args []string) bool {
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	return fs.Parse(args) != nil
}

// access looks at rules and certificates.
func (r *report) access(s *serveSettings) {
	if _, err := loadAccess(s.config, s.certs, s.metricsToken); err != nil {
		r.fail("access", "%s", plain(err))
		return
	}
	if s.certs == "" {
		r.ok("certificates", "none: the node listens on loopback, or is open (--insecure)")
		return
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.certs, "node.crt"), filepath.Join(s.certs, "node.key"))
	if err != nil {
		r.fail("certificates", "%s", err)
		return
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		r.fail("certificates", "%s", err)
		return
	}
	switch left := time.Until(leaf.NotAfter); {
	case left < 0:
		r.fail("certificates", "node.crt ended on %s; make a new one with tributary cert", leaf.NotAfter.Format(time.DateOnly))
	case left < 30*24*time.Hour:
		r.warn("certificates", "node.crt ends on %s; make a new one with tributary cert, then send the node SIGHUP", leaf.NotAfter.Format(time.DateOnly))
	default:
		r.ok("certificates", "good until %s", leaf.NotAfter.Format(time.DateOnly))
	}
}

// machine looks at what the process gets of the machine.
func (r *report) machine(s *serveSettings) {
	if name := kernel(); name != "" {
		r.ok("system", "%s, %s/%s", name, runtime.GOOS, runtime.GOARCH)
	}
	o, there := s.options, availableMemory()
	switch {
	case o.Memory > there:
		r.fail("memory", "--memory is %s, but the machine or the cgroup has %s; give less, or raise the limit (MemoryMax)", size(o.Memory), size(there))
	case o.Memory > there/10*9:
		r.warn("memory", "--memory is %s of %s; leave a tenth at least to the kernel", size(o.Memory), size(there))
	case o.Memory < leastMemory:
		r.fail("memory", "%s of the machine's or the cgroup's %s is too little: a node needs 128MiB", size(o.Memory), size(there))
	default:
		r.ok("memory", "--memory is %s of %s", size(o.Memory), size(there))
	}
	if n := cores; o.Threads > n {
		r.warn("threads", "--threads is %d, of %d cores; more are slower, not faster", o.Threads, n)
	} else {
		r.ok("threads", "%d of %d cores", o.Threads, n)
	}
	if n, known := openFiles(); known && n < 8192 {
		r.warn("open files", "the limit is %d; raise it to 65536 (LimitNOFILE of the unit, or ulimit -n)", n)
	} else if known {
		r.ok("open files", "the limit is %d", n)
	}
	for _, l := range []struct{ flag, addr string }{{"listen-pg", s.listenPG}, {"listen-http", s.listenHTTP}, {"listen-cluster", o.ListenCluster}} {
		if c, err := net.Listen("tcp", l.addr); err != nil {
			r.warn(l.flag, "%s; unless that is the node itself, give another address", err)
		} else {
			_ = c.Close()
			r.ok(l.flag, "%s is free", l.addr)
		}
	}
}

// directory looks at a data directory; it returns the addresses of the cluster that the directory knows.
func (r *report) directory(path string) (members []string) {
	at := path
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		at = existing(path)
		r.ok("directory", "%s is not there yet: the first start makes it", path)
	} else if err != nil {
		r.fail("directory", "%s", err)
		return nil
	} else if !info.IsDir() {
		r.fail("directory", "%s is no directory", path)
		return nil
	}
	if free, err := disk.Free(at); err != nil {
		r.fail("disk", "%s", err)
	} else if total, err := disk.Total(at); err == nil && free < total/10 {
		r.warn("disk", "%s of %s are free; add space, or drop what is not needed, before it is full", size(free), size(total))
	} else {
		r.ok("disk", "%s are free", size(free))
	}
	r.fsync(at)
	if at != path {
		return nil
	}
	if owner, own := owned(info); !own {
		r.fail("owner", "%s belongs to user %d; run this as that user, or chown -R it to the node's", path, owner)
		return nil
	}
	if info.Mode().Perm()&0o022 != 0 {
		r.fail("modes", "others may write in %s; chmod go-w it", path)
	} else {
		r.ok("modes", "%s, for its owner to write", info.Mode().Perm())
	}
	if secret, err := os.Stat(filepath.Join(path, raftnode.SecretFile)); err == nil && secret.Mode().Perm()&0o077 != 0 {
		r.fail("secret", "others may read %s; chmod 600 it, and change the secret if they might have", filepath.Join(path, raftnode.SecretFile))
	}
	if _, err := os.Stat(filepath.Join(path, "identity")); errors.Is(err, os.ErrNotExist) {
		r.ok("identity", "none yet: the first start gives one")
		return nil
	}
	r.segments(filepath.Join(path, "segments"))
	s, err := raftnode.Survey(path, slog.New(slog.DiscardHandler))
	var e *pgerr.Error
	switch {
	case errors.As(err, &e) && e.Code == pgerr.ObjectInUse:
		r.ok("journal", "in use by a running node; --url asks it")
	case err != nil:
		r.fail("journal", "%s", strings.ReplaceAll(plain(err), "\n", " "))
	default:
		r.ok("journal", "node %x of cluster %s, to term %d and index %d, %d members", s.Node, s.Cluster, s.Term, s.Index, len(s.Members))
		for _, m := range s.Members {
			if m.ID != s.Node {
				members = append(members, m.Addr)
			}
		}
	}
	return members
}

// existing returns the nearest directory above a path that is there.
func existing(path string) string {
	path, err := filepath.Abs(path)
	for err == nil {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// fsync writes and syncs a small file some times: each commit waits for that.
func (r *report) fsync(dir string) {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		r.fail("fsync", "%s; the node's user must be able to write there", err)
		return
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	var took []time.Duration
	for range 21 {
		since := time.Now()
		_, err := f.Write(make([]byte, 4096))
		if err = errors.Join(err, f.Sync()); err != nil {
			r.fail("fsync", "%s", err)
			return
		}
		took = append(took, time.Since(since))
	}
	slices.Sort(took)
	switch median := took[len(took)/2]; {
	case median > 20*time.Millisecond:
		r.warn("fsync", "4 KiB take %s, and each commit waits for that; use a disk with a protected write cache", median.Round(time.Microsecond))
	case median < 20*time.Microsecond:
		r.warn("fsync", "4 KiB take %s: the file system keeps them in memory and loses them with the machine; use a disk", median)
	default:
		r.ok("fsync", "4 KiB take %s", median.Round(time.Microsecond))
	}
}

// segments opens each segment.
func (r *report) segments(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		r.fail("segments", "%s; see \"What is stored where\" in the manual", err)
		return
	}
	n := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".seg") {
			continue
		}
		n++
		if err := readable(filepath.Join(dir, f.Name())); err != nil {
			r.fail("segments", "%s; a node of a cluster gets it from another once it runs", err)
		}
	}
	r.ok("segments", "%d; a running node compares their checksums (--scrub-every)", n)
}

// readable reads the first and the last byte of a file.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	for _, at := range []int64{0, -1} {
		if err == nil && info.Size() > 0 {
			_, err = f.ReadAt(make([]byte, 1), (at+info.Size())%info.Size())
		}
	}
	return err
}

// peers knocks at the addresses of other nodes.
func (r *report) peers(ctx context.Context, addrs []string) {
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		dialer := net.Dialer{Timeout: 2 * time.Second}
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			r.fail("member", "%s; is that node up, its address right, and the port open in between?", err)
			continue
		}
		_ = c.Close()
		r.ok("member", "%s answers", addr)
	}
}

// cluster asks a running node about all.
func (r *report) cluster(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		r.fail("cluster", "%s", err)
		return
	}
	defer c.Close(context.WithoutCancel(ctx))
	rows, err := c.Query(ctx, "SELECT name, state, coalesce(segments_damaged - segments_repaired, 0), coalesce(version, 'unknown') FROM cluster.nodes ORDER BY name")
	if err != nil {
		r.fail("cluster", "%s", err)
		return
	}
	var name, state, runs string
	var damaged int64
	if _, err = pgx.ForEachRow(rows, []any{&name, &state, &damaged, &runs}, func() error {
		switch {
		case state == "down":
			r.fail("node "+name, "down; start it, or replace it (tributary node replace)")
		case damaged > 0:
			r.warn("node "+name, "%s, with %d damaged segments that wait for a copy", state, damaged)
		case state != "ready":
			r.warn("node "+name, "%s", state)
		case runs != version:
			r.warn("node "+name, "ready, with version %s, and this program is %s; all nodes should run the same one", runs, version)
		default:
			r.ok("node "+name, "ready, with version %s", runs)
		}
		return nil
	}); err != nil {
		r.fail("cluster", "%s", err)
	}
}

// size writes bytes as --memory takes them.
func size(n int64) string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= u.n {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(u.n), u.name)
		}
	}
	return fmt.Sprintf("%dKiB", n>>10)
}
