// Package tempfile is the files that rows of a training go to when there is no memory
// for them. A file has no name, only grows, and is gone with its process. What is read is
// checked against the checksum of what was written, or mapped.
package tempfile
