package sysview

import "github.com/tributarydb/tributary/sql/catalog"

// clusterSecrets shows secrets, without what is secret, to those who may use them.
func clusterSecrets(v *view, put put) error {
	for _, s := range catalog.Secrets(v.st) {
		if !v.may(s.Object(), "U") && !v.owns(s.Owner) {
			continue
		}
		err := put(s.Name, s.Type, v.roleName(s.Owner), text(s.Scope), text(s.KeyID), text(s.Region), text(s.Endpoint), text(s.URLStyle), s.SSL, s.CreatedAt, v.aclText(s.Object()))
		if err != nil {
			return err
		}
	}
	return nil
}
