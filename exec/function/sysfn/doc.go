// Package sysfn implements the functions about the session, the server and the
// catalog: settings, privileges, access control lists, definitions of objects.
package sysfn
