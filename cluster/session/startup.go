package session

import (
	"strings"

	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Startup is what a client said when it connected.
type Startup struct {
	User, Database string
	Params         [][2]string
	Remote, Local  string
	TLS            *sysview.TLSRow // nil without
	Offered        bool            // the server offers TLS
	PID, Secret    uint32
	Notify         Notifier
	Wake           func() // called once Killed has a reason
	// Own says that the node itself works for the role, which need not be one that logs in.
	Own bool
}

// Notifier takes what a statement says beside its result.
type Notifier interface {
	Notice(*pgerr.Error)
	Parameter(name, value string)
}

// startupOptions reads the command-line form of startup settings: -c name=value,
// --name=value; a backslash keeps a space.
func startupOptions(text string) (given [][2]string, err error) {
	var words []string
	var w strings.Builder
	esc, in := false, false
	for _, r := range text {
		switch {
		case esc:
			w.WriteRune(r)
			esc = false
		case r == '\\':
			esc, in = true, true
		case r == ' ' || r == '\t':
			if in {
				words = append(words, w.String())
				w.Reset()
			}
			in = false
		default:
			w.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, w.String())
	}
	for i := 0; i < len(words); i++ {
		arg := words[i]
		switch {
		case arg == "-c" && i+1 < len(words):
			i++
			arg = words[i]
		case strings.HasPrefix(arg, "-c"):
			arg = arg[2:]
		case strings.HasPrefix(arg, "--"):
			arg = arg[2:]
		default:
			// "dialect=mysql" without a dash is what the contract allows.
		}
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, pgerr.New(pgerr.SyntaxError, "invalid command-line argument for server process: %s", words[i])
		}
		given = append(given, [2]string{strings.ReplaceAll(name, "-", "_"), value})
	}
	return given, nil
}
