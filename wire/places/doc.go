// Package places bounds the connections that strangers can make a server hold.
package places
