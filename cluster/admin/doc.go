// Package admin changes the cluster itself, for a superuser: its settings (ALTER SYSTEM),
// and its members with what each may use (ALTER NODE). What it does is committed at once,
// in no transaction, and it waits until the members have followed.
package admin
