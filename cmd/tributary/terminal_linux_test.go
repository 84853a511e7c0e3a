package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal with the shell on it.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{}

	mu   sync.Mutex
	came *sync.Cond
	text []byte // what was written since the last match
	over bool
}

// startTerminal runs the program on a terminal of 100 columns and 30 lines.
func startTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{t: t, master: master, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.came = sync.NewCond(&p.mu)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "PAGER=cat"}, env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	go func() {
		defer close(p.ended)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			p.mu.Lock()
			p.text = append(p.text, b[:n]...)
			p.over = err != nil // the program has ended
			p.came.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		<-p.ended
		_ = master.Close()
	})
	return p
}

// sequences are what terminals are sent beside text.
var sequences = regexp.MustCompile(`\x1b(\[[0-9;? ]*[A-Za-z]|[A-Z=>]|\][^\x07]*\x07|[0-9]\x1b)`)

// plainText is what a terminal shows, without colours and movements.
func plainText(b []byte) string {
	return strings.ReplaceAll(sequences.ReplaceAllString(string(b), ""), "\r", "")
}

func (p *terminal) press(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// see waits until a text has appeared.
func (p *terminal) see(want string) string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	late := time.AfterFunc(time.Minute, func() {
		p.mu.Lock()
		p.over = true
		p.came.Broadcast()
		p.mu.Unlock()
	})
	defer late.Stop()
	for {
		text := plainText(p.text)
		if i := strings.Index(text, want); i >= 0 {
			raw := string(p.text)
			p.text = []byte(text[i+len(want):])
			return raw
		}
		if p.over {
			p.t.Fatalf("%q did not appear in\n%s", want, text)
		}
		p.came.Wait()
	}
}

// exit waits for the program's end and returns its code.
func (p *terminal) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatal("the shell does not end")
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

const up, ctrlC, ctrlD, ctrlR, tab = "\x1b[A", "\x03", "\x04", "\x12", "\t"

// typedFirst are what an evaluator of psql, duckdb or pgcli types first, with what must then appear.
var typedFirst = []struct{ keys, see string }{
	{"help\r", `\q, quit, exit`},
	{"\\dt\r", "Did not find any tables."},
	{"create table people as\rselect i as id, 'name ' || i as name\rfrom generate_series(1, 3) i;\r", "SELECT 3\n"},
	{"\\dt\r", "public | people | table"},
	{"\\d people\r", `Table "public.people"`},
	{"select count(*) as three,\r'é日本' as é\rfrom people;\r", " three |   é   \n-------+-------\n     3 | é日本\n(1 row)\n"},
	{up + "\r", "     3 | é日本\n(1 row)\n"},
	{"select * from peo" + tab + " where na" + tab + " = 'name 2';\r", "  2 | name 2\n(1 row)\n"},
	{"select 'half" + ctrlC + "select 40 + 2 as whole;\r", "    42\n(1 row)\n"},
	{"select * from cluster." + tab + ctrlC + "select 40 + 3 as menu;\r", "   43\n(1 row)\n"},
	{"select 101 as a;\rselect 102 as b;\rselect 103 as c;\r", " 101\n(1 row)\n"}, // typed ahead: nothing is lost
	{"", " 102\n(1 row)\n"},
	{"", " 103\n(1 row)\n"},
	{ctrlR + "name 2" + "\r", "  2 | name 2\n(1 row)\n"},
	{"\\x\r", "Expanded display is on."},
	{"select 1 as one;\r", "-[ RECORD 1 ]\none | 1\n"},
	{"\\x\r", "Expanded display is off."},
	{"\\timing\r", "Timing is on."},
	{"select 2 as two;\r", "Time: "},
	{"\\timing\r", "Timing is off."},
	{"show tables;\r", " people\n(1 row)"},
	{"show databases;\r", "HINT:  Try \\l.\n"},
	{".tables\r", "try \\dt\n"},
	{"use other;\r", "HINT:  Try \\c NAME.\n"},
	{"selec 1;\r", "LINE 1: selec 1\n        ^\n"},
	{"\\nothing\r", "invalid command \\nothing"},
	{"select count(*) from generate_series(1, 1000000000000);\r", " s "}, // the line that says how long it runs
	{ctrlC, "canceling statement due to user request"},
	{"select 40 + 4 as again;\r", "    44\n(1 row)\n"},
}

// TestTerminal types them on a terminal, as a person does.
func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	env := []string{"HOME=" + dir}
	args := []string{"sql", "--data", filepath.Join(dir, "data"), "--memory", "512MiB"}
	p := startTerminal(t, env, args...)
	for _, s := range typedFirst {
		// Between two statements the terminal is the kernel's, which has its own ideas of Ctrl-R and Ctrl-D.
		if s.keys != "" && s.keys != ctrlC {
			p.see("tributary=# ")
		}
		p.press(s.keys)
		p.see(s.see)
	}
	p.see("tributary=# ")
	p.press(ctrlD)
	if code := p.exit(); code != 0 {
		t.Errorf("Ctrl-D: code %d", code)
	}

	// The history is there in the next session, and \q, quit and exit end it.
	for _, end := range []string{up + "\r", "\\q\r", "quit\r", "exit;\r"} {
		p = startTerminal(t, env, args...)
		p.see("tributary=# ")
		p.press(end)
		if strings.HasPrefix(end, up) {
			p.see("    44\n(1 row)\n")
			p.see("tributary=# ")
			p.press(ctrlD)
		}
		if code := p.exit(); code != 0 {
			t.Errorf("%q: code %d", end, code)
		}
	}

	// ~/.tributaryrc is run first. Its settings hold, and it says nothing.
	if err := os.WriteFile(filepath.Join(dir, ".tributaryrc"), []byte("\\x on\n\\set greeting 'from the file'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = startTerminal(t, env, args...)
	p.see("tributary=# ")
	p.press("select :'greeting' as said;\r")
	p.see("-[ RECORD 1 ]-------\nsaid | from the file\n")
	p.press("\\prompt 'who? ' who\r")
	p.see("\nwho? ")
	p.press("Ann\r")
	p.see("tributary=# ")
	p.press("\\echo it is :who\r")
	p.see("it is Ann\n")
	p.see("tributary=# ")
	p.press(ctrlD)
	p.exit()
}

// TestTerminalPassword: the shell asks for a password that nobody gave, without an echo, and \password sets another.
func TestTerminalPassword(t *testing.T) {
	dir := t.TempDir()
	node := startProcess(t, filepath.Join(dir, "data"), "")
	c := node.connect()
	do(t, c, "CREATE ROLE ann LOGIN PASSWORD 'first'")
	url := "postgres://ann@" + node.PG + "/tributary"
	p := startTerminal(t, []string{"HOME=" + dir}, "sql", url)
	p.see("Password for user ann: ")
	p.press("first\r")
	p.see("tributary=# ")
	p.press("\\conninfo\r")
	if raw := p.see(`as user "ann"`); strings.Contains(raw, "first") {
		t.Errorf("the password was shown: %q", raw)
	}
	p.press("\\password\r")
	p.see(`Enter new password for user "ann": `)
	p.press("second\r")
	p.see("Enter it again: ")
	p.press("second\r")
	p.see("tributary=# ")
	p.press("\\c -\r")
	p.see(`You are now connected to database "tributary" as user "ann".`)
	p.press("\\c " + strings.Replace(url, "ann@", "tributary@", 1) + "\r")
	p.see(`as user "tributary".`)
	p.press("\\c - nobody\r")
	p.see("Password for user nobody: ")
	p.press("any\r")
	p.see("Previous connection kept")
	p.see("tributary=# ")
	p.press(ctrlD)
	if code := p.exit(); code != 0 {
		t.Errorf("code %d", code)
	}

	// A password file, and the environment, are used as libpq's are.
	host, port, _ := strings.Cut(node.PG, ":")
	if err := os.WriteFile(filepath.Join(dir, ".pgpass"), []byte("*:*:*:ann:second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "services"), []byte("[mine]\nhost="+host+"\nport="+port+"\nuser=ann\ndbname=tributary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{
		{"HOME=" + dir, "PGHOST=" + host, "PGPORT=" + port, "PGUSER=ann"},
		{"HOME=" + dir, "PGSERVICEFILE=" + filepath.Join(dir, "services"), "PGSERVICE=mine"},
		{"HOME=/", "PGPASSWORD=second", "PGHOST=" + host, "PGPORT=" + port, "PGUSER=ann", "PGDATABASE=tributary"},
	} {
		p := startTerminal(t, env, "sql", "-w", "-c", "select current_user as me")
		p.see(" ann\n(1 row)\n")
		if code := p.exit(); code != 0 {
			t.Errorf("%q: code %d", env, code)
		}
	}
}
