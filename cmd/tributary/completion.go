package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tributarydb/tributary/cmd/flags"
)

const completionUsage = `Usage: tributary completion bash|zsh|fish

  bash   tributary completion bash > /etc/bash_completion.d/tributary
  zsh    tributary completion zsh > "${fpath[1]}/_tributary"
  fish   tributary completion fish > ~/.config/fish/completions/tributary.fish
`

// words are what may follow a command.
var words = map[string]string{
	"node": "list drain resume decommission replace", "config": "check", "cert": "ca node client",
	"completion": "bash zsh fish", "bench": "tpch tpcds clickbench loads groupby features sql joins logistic ridge trees all",
}

// completion prints a script for a shell, made from the commands' own flags.
func completion(_ context.Context, args []string) error {
	fs := flags.New("completion", completionUsage)
	if err := fs.Parse(args); err != nil {
		return err
	}
	write := map[string]func(io.Writer){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[fs.Arg(0)]
	if write == nil || fs.NArg() != 1 {
		return fmt.Errorf("what is wanted is one of bash, zsh and fish")
	}
	write(os.Stdout)
	return nil
}

// flagsOf returns the flags of a command.
func flagsOf(c command) (list []*flag.Flag) {
	if !c.hasFlags() {
		return nil
	}
	if fs := flags.Of(func() { _ = c.run(context.Background(), []string{"--help"}) }); fs != nil {
		fs.VisitAll(func(f *flag.Flag) { list = append(list, f) })
	}
	return list
}

// dashed returns a flag as it is written.
func dashed(f *flag.Flag) string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

// isSwitch reports whether a flag takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func bashCompletion(w io.Writer) {
	fmt.Fprint(w, "# bash completion of tributary\n_tributary() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} words\n\tif ((COMP_CWORD == 1)); then\n\t\twords='")
	for i, c := range commands {
		fmt.Fprint(w, strings.Repeat(" ", min(i, 1)), c.name)
	}
	fmt.Fprint(w, "'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n")
	for _, c := range commands {
		list := strings.Fields(words[c.name])
		for _, f := range flagsOf(c) {
			list = append(list, dashed(f))
		}
		fmt.Fprintf(w, "\t\t%s) words='%s' ;;\n", c.name, strings.Join(list, " "))
	}
	fmt.Fprint(w, "\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _tributary tributary\n")
}

func zshCompletion(w io.Writer) {
	quote := strings.NewReplacer("'", "'\\''", "[", "\\[", "]", "\\]", ":", "\\:")
	fmt.Fprint(w, "#compdef tributary\n_tributary() {\n\tlocal -a commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(w, "\t\t'%s:%s'\n", c.name, quote.Replace(c.short))
	}
	fmt.Fprint(w, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n")
	for _, c := range commands {
		fmt.Fprintf(w, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range flagsOf(c) {
			value := ":value:_files"
			if isSwitch(f) {
				value = ""
			}
			fmt.Fprintf(w, " \\\n\t\t\t'%s[%s]%s'", dashed(f), quote.Replace(f.Usage), value)
		}
		if words[c.name] != "" {
			fmt.Fprintf(w, " \\\n\t\t\t'1:what:(%s)'", words[c.name])
		}
		fmt.Fprint(w, " \\\n\t\t\t'*::file:_files'\n\t\t;;\n")
	}
	fmt.Fprint(w, "\tesac\n}\n_tributary \"$@\"\n")
}

func fishCompletion(w io.Writer) {
	quote := strings.NewReplacer("\\", "\\\\", "'", "\\'")
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c tributary -f -n __fish_use_subcommand -a %s -d '%s'\n", c.name, quote.Replace(c.short))
	}
	for _, c := range commands {
		within := "'__fish_seen_subcommand_from " + c.name + "'"
		if words[c.name] != "" {
			fmt.Fprintf(w, "complete -c tributary -n %s -a '%s'\n", within, words[c.name])
		}
		for _, f := range flagsOf(c) {
			kind, value := "-l", " -r"
			if len(f.Name) == 1 {
				kind = "-s"
			}
			if isSwitch(f) {
				value = ""
			}
			fmt.Fprintf(w, "complete -c tributary -n %s %s %s%s -d '%s'\n", within, kind, f.Name, value, quote.Replace(f.Usage))
		}
	}
}
