package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/cmd/flags"
)

const nodeUsage = `Usage: tributary node [--url URL] COMMAND

  list                     the members and their state
  drain NAME               move a node's files elsewhere and give it nothing new
  resume NAME              end that
  decommission [--force] NAME
                           drain a node, then remove it; --force does not wait: what only it holds is lost
  replace OLD NEW          give NEW the files of OLD, then remove OLD
`

// nodeCommand administers the cluster's members, through any of them.
func nodeCommand(ctx context.Context, args []string) error {
	fs := flags.New("node", nodeUsage)
	url := fs.String("url", "postgres://tributary@127.0.0.1:5432/tributary", "a node to ask, as a superuser; PGPASSWORD and its kin count")
	force := fs.Bool("force", false, "decommission: do not wait for copies of what only the node holds, which is lost")
	if err := fs.Parse(args); err != nil {
		return err
	}
	words := fs.Args()
	if *force && fs.Arg(0) != "decommission" {
		return errors.New("--force is for decommission")
	}
	name := func(i int) string { return pgx.Identifier{words[i]}.Sanitize() }
	statement := ""
	switch {
	case len(words) == 1 && words[0] == "list":
	case len(words) == 2 && words[0] == "drain":
		statement = "ALTER NODE " + name(1) + " DRAIN"
	case len(words) == 2 && words[0] == "resume":
		statement = "ALTER NODE " + name(1) + " RESUME"
	case len(words) == 2 && words[0] == "decommission":
		statement = "ALTER NODE " + name(1) + " DECOMMISSION"
		if *force {
			statement += " FORCE"
		}
	case len(words) == 3 && words[0] == "replace":
		statement = "ALTER NODE " + name(1) + " REPLACE WITH " + name(2)
	default:
		return errors.New(strings.TrimSpace(nodeUsage))
	}
	conf, err := pgx.ParseConfig(*url)
	if err != nil {
		return err
	}
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { fmt.Fprintf(os.Stderr, "%s: %s\n", n.Severity, n.Message) }
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if statement != "" {
		_, err := c.Exec(ctx, statement)
		return err
	}
	return listNodes(ctx, c)
}

func listNodes(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, "SELECT name, state, leader, address, pg_address FROM cluster.nodes ORDER BY name")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tLEADS\tCLUSTER\tPOSTGRES")
	var name, state, addr string
	var pg *string
	var leads bool
	_, err = pgx.ForEachRow(rows, []any{&name, &state, &leads, &addr, &pg}, func() error {
		clients := ""
		if pg != nil {
			clients = *pg
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%t\t%s\t%s\n", name, state, leads, addr, clients)
		return err
	})
	return errors.Join(err, w.Flush())
}
