package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Build builds the program in a directory, with extra flags of go build, and returns
// its path. It may be called in any package of the module, and of the modules beside it.
func Build(dir string, flags ...string) (string, error) {
	const module = "github.com/tributarydb/tributary"
	path, err := filepath.Abs(filepath.Join(dir, "tributary"))
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("the module %s: %w", module, err)
	}
	build := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "./cmd/tributary")...)
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// Node is a node that was started. Its addresses are set once it is ready.
type Node struct {
	PG, HTTP, Cluster, Name string

	cmd   *exec.Cmd
	log   tail
	ready chan string
	done  chan struct{}
	err   error // of Wait; set when done is closed
}

// Start runs a command until it is ready. It fails if the command ends before
// that, or ctx does.
func Start(ctx context.Context, command ...string) (*Node, error) {
	n, err := Launch(nil, command...)
	if err != nil {
		return nil, err
	}
	return n, n.Ready(ctx)
}

// Launch runs a command and does not wait. What it writes to standard error
// goes to log as well, which may be nil.
func Launch(log io.Writer, command ...string) (*Node, error) {
	n := &Node{cmd: exec.Command(command[0], command[1:]...), ready: make(chan string, 1), done: make(chan struct{})}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A signal to the terminal's group is for the caller: it ends its nodes.
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n.cmd.Stderr = &n.log
	if log != nil {
		n.cmd.Stderr = io.MultiWriter(&n.log, log)
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(n.done)
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.HasPrefix(s.Text(), "ready ") {
				n.ready <- s.Text()
			}
		}
		n.err = n.cmd.Wait()
	}()
	return n, nil
}

// Ready waits for the node's line and sets its addresses. A node that is not
// ready when ctx ends is killed.
func (n *Node) Ready(ctx context.Context) error {
	select {
	case line := <-n.ready:
		for _, f := range strings.Fields(line) {
			name, v, _ := strings.Cut(f, "=")
			if to := map[string]*string{"pg": &n.PG, "http": &n.HTTP, "cluster": &n.Cluster, "node": &n.Name}[name]; to != nil {
				*to = v
			}
		}
		return nil
	case <-n.done:
		return fmt.Errorf("the node ended: %w\n%s", cmp.Or(n.err, errors.New("without an error")), n.Log())
	case <-ctx.Done():
		n.Kill()
		return fmt.Errorf("the node is not ready: %w\n%s", ctx.Err(), n.Log())
	}
}

// Pid returns the process id.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err waits for the process to end and returns how it ended.
func (n *Node) Err() error {
	<-n.done
	return n.err
}

// Log returns the end of what the process wrote to standard error.
func (n *Node) Log() string { return n.log.String() }

// Signal sends a signal.
func (n *Node) Signal(sig os.Signal) error { return n.cmd.Process.Signal(sig) }

// Kill ends the process as a power cut would, and waits for its end.
func (n *Node) Kill() {
	_ = n.cmd.Process.Kill()
	<-n.done
}

// Stop asks the process to shut down and returns how it ended; where ctx ends first,
// the process is killed.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-n.done:
		return n.err
	case <-ctx.Done():
		n.Kill()
		return fmt.Errorf("the node does not leave: %w\n%s", ctx.Err(), n.Log())
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if len(t.b) > 2*tailBytes {
		t.b = append(t.b[:0], t.b[len(t.b)-tailBytes:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
