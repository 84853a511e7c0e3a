// Package docs is the manual as part of the program: the pages, in the order of index.md.
package docs
