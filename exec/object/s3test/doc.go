// Package s3test is an S3-compatible store in the test's process, which loses, delays and breaks what a test says.
//
// Tested by the tests of exec/object, which reads and writes with it.
package s3test
