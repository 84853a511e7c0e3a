// Command sqlfuzz runs internal/sqlfuzz against a server at any address.
package main
