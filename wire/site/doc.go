// Package site serves the manual: pages rendered from Markdown, and a search over them.
package site
