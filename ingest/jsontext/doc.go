// Package jsontext reads JSON as strictly as the formats of package ingest
// need it. Names are compared as they are, nothing is replaced, numbers keep
// their digits, and nothing is copied.
package jsontext
