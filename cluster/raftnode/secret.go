package raftnode

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// SecretFile is the file of the cluster's secret within a data directory.
const SecretFile = "cluster-secret"

// ReadSecret reads a file such as SecretFile.
func ReadSecret(path string) (rpc.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return rpc.Secret{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return rpc.Secret{}, err
	}
	s, err := rpc.ParseSecret(string(text))
	if err != nil {
		return s, pgerr.Wrap(pgerr.ConfigFileError, err, "file %q does not hold a cluster's secret", path).WithHint("%s", pgerr.From(err).Hint)
	}
	return s, nil
}

// Secret returns the cluster's secret for the node of this directory and stores it
// there: the given one, the stored one, or for a new cluster a new one; else none.
func (d *Dir) Secret(given rpc.Secret) (rpc.Secret, error) {
	path := filepath.Join(d.Path, SecretFile)
	has, err := ReadSecret(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return has, dirError(err, d.Path)
	}
	switch standing := d.standing(); {
	case given.IsZero() && has.IsZero() && standing == founding:
		given = rpc.NewSecret()
	case given.IsZero() || given == has:
		return has, nil
	case standing == member && !has.IsZero():
		return has, pgerr.New(pgerr.InvalidParameterValue, "the secret that was given is not that of data directory %q", d.Path).
			WithHint("A member needs none given. To change a cluster's secret, stop all of its nodes, and put a new file %s into each directory.", SecretFile)
	}
	if err := replaceFile(path, given.Text()+"\n"); err != nil {
		return given, dirError(err, d.Path)
	}
	return given, nil
}

// NoSecret returns the error of a node that has neither a secret nor certificates.
func (d *Dir) NoSecret() error {
	const hint = "Give --join-secret with the file " + SecretFile + " of a member's data directory, or a copy of it; or its text in the environment as TRIBUTARY_JOIN_SECRET."
	if d.standing() == joining {
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "a node needs the cluster's secret to join it").WithHint(hint)
	}
	return pgerr.New(pgerr.InvalidAuthorizationSpecification, "data directory %q has no file %q", d.Path, SecretFile).
		WithHint("%s", hint+" Where no member has one, make one for all of them: openssl rand -hex 32.")
}
