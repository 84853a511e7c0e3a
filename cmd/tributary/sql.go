package main

import (
	"context"
	"errors"
	"os"

	"github.com/tributarydb/tributary/cmd/shell"
)

// shellCommand runs a SQL shell; its exit codes are psql's.
func shellCommand(_ context.Context, args []string) error {
	// The main context ends at Ctrl-C, which the shell handles itself.
	std, release := shell.Terminal()
	defer release()
	err := shell.Main(context.Background(), args, std)
	var exit shell.Exit
	if errors.As(err, &exit) {
		os.Exit(exit.Code)
	}
	return err
}
