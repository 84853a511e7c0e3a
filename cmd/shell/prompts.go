package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tributarydb/tributary/wire/auth"
)

// answer reads a line from the person, or from the standard input that the statements do not come from.
func (s *session) answer(prompt string) (string, error) {
	var line string
	var err error
	switch {
	case s.in.data != nil:
		line, err = s.in.data(prompt)
	case s.io.Process && s.io.Interactive:
		line, err = plainLine(prompt)
	case s.in.name == "" && len(s.opts.actions) == 0:
		fmt.Fprint(s.io.Out, prompt)
		line, err = s.in.next("")
	default:
		if s.answers == nil {
			s.answers = bufio.NewReader(s.io.In)
		}
		fmt.Fprint(s.io.Out, prompt)
		line, err = s.answers.ReadString('\n')
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// secret reads a password, without an echo where there is a terminal.
func (s *session) secret(prompt string) (string, error) {
	if s.io.Password != nil {
		return s.io.Password(prompt)
	}
	return s.answer(prompt)
}

func promptCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	words := a.all()
	if len(words) == 0 {
		return errors.New(`\prompt: missing required argument: the name of a variable`)
	}
	text, err := s.answer(strings.Join(words[:len(words)-1], " "))
	if err != nil {
		return fmt.Errorf(`\prompt: no answer: %w`, err)
	}
	s.vars[words[len(words)-1]] = text
	return nil
}

// passwordCommand sets a role's password. The server gets what it checks passwords by, and never the password.
func passwordCommand(s *session, ctx context.Context, _ *splitter, a *arguments) error {
	role, given := a.next()
	if !given {
		_, rows, err := s.query(ctx, "SELECT CURRENT_USER")
		if err != nil {
			return err
		}
		role = *rows[0][0]
	}
	password, err := s.secret(fmt.Sprintf("Enter new password for user %q: ", role))
	if err != nil {
		return err
	}
	again, err := s.secret("Enter it again: ")
	if err != nil {
		return err
	}
	if password != again {
		return errors.New("passwords didn't match")
	}
	verifier, err := auth.Verifier(password)
	if err != nil {
		return err
	}
	_, _, err = s.query(ctx, "ALTER USER "+identifier(role)+" PASSWORD "+literal(verifier))
	s.sql = "" // it is in no message
	if err == nil && role == s.conf.User && s.conf.Password != "" {
		s.conf.Password = password // for \c
	}
	return err
}
