// Command client is the shell alone, as tributary for machines that run no node: those with Windows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/tributarydb/tributary/cmd/shell"
)

var version = "unreleased" // set by a release build

const usage = `The client parts of Tributary, a Postgres-wire SQL database that trains models where the data is.

Usage: tributary COMMAND [flags]

Commands:
  sql      a SQL shell, on a server
  query    run a statement on a server and end
  version  print the version
`

func main() {
	name, args := "", os.Args[1:]
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	run := shell.Main
	switch name {
	case "sql":
	case "query":
		run = shell.Query
	case "version", "--version":
		fmt.Println("tributary", version, runtime.GOOS+"/"+runtime.GOARCH)
		return
	case "help", "--help", "-h":
		fmt.Print(usage)
		return
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	std, release := shell.Terminal()
	err := run(context.Background(), args, std, nil)
	release()
	var exit shell.Exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &exit):
		os.Exit(exit.Code)
	default:
		fmt.Fprintln(os.Stderr, "tributary "+name+":", err)
		os.Exit(1)
	}
}
