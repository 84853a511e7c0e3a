package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tributarydb/tributary/cmd/flags"
)

const configUsage = `Usage: tributary config check FILE

Says whether a node would start with the configuration file: its names and values, its rules
(hba) and the certificates that it names. The environment does not count.
`

// configCommand checks a configuration file before a node is started with it or reads it again.
func configCommand(_ context.Context, args []string) error { return checkConfig(args, os.Stdout) }

func checkConfig(args []string, out io.Writer) error {
	fs := flags.New("config", configUsage)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 2 || fs.Arg(0) != "check" {
		return errors.New("what is wanted is: tributary config check FILE")
	}
	file := fs.Arg(1)
	s, err := readSettings(flags.New("serve", ""), []string{"--config", file}, func(string) string { return "" })
	if err != nil {
		return err
	}
	if _, err := loadAccess(file, s.certs, s.metricsToken); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: a node can start with it\n", file)
	return nil
}
