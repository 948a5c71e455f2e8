// Package output is what the command lines write: data on standard output, as
// JSON for programs or as tables for people, and text that is safe to show.
package output
