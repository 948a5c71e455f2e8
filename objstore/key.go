package objstore

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid says that the store can never do what was asked, whoever asks and
// however often: the key is none, or the bucket is not there. Nothing was done.
var ErrInvalid = errors.New("invalid request")

// Keys are kept to what every store takes: S3 allows 1024 bytes, and a file
// system 255 for one name.
const (
	maxKey     = 1024
	maxElement = 255
)

// CheckKey returns an ErrInvalid unless key is one that every store takes and
// keeps apart from all others: path elements of the alphabet [A-Za-z0-9_.=-],
// none of them empty, "." or "..", joined by "/".
//
// Every implementation asks it before it does anything, so a key never leads
// out of a folder, and a store of one kind can be copied into any other.
func CheckKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("key of %d bytes, want at most %d: %w", len(key), maxKey, ErrInvalid)
	}
	for element := range strings.SplitSeq(key, "/") {
		if err := checkElement(element); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	return nil
}

// CheckPrefix returns an ErrInvalid unless some key begins with prefix. The
// empty prefix begins them all, and the last element may be cut off anywhere.
func CheckPrefix(prefix string) error {
	last := prefix
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		if err := CheckKey(prefix[:i]); err != nil {
			return fmt.Errorf("prefix %q: %w", prefix, err)
		}
		last = prefix[i+1:]
	}
	// "x" makes a whole element of one that is cut off.
	if err := checkElement(last + "x"); err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	return nil
}

func checkElement(element string) error {
	switch {
	case element == "":
		return fmt.Errorf("empty path element: %w", ErrInvalid)
	case element == "." || element == "..":
		return fmt.Errorf("path element %q: %w", element, ErrInvalid)
	case len(element) > maxElement:
		return fmt.Errorf("path element of %d bytes, want at most %d: %w", len(element), maxElement, ErrInvalid)
	}
	for i := range len(element) {
		if !inAlphabet(element[i]) {
			return fmt.Errorf("byte %q is not of [A-Za-z0-9_.=-]: %w", element[i], ErrInvalid)
		}
	}
	return nil
}

func inAlphabet(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
		b == '_' || b == '.' || b == '=' || b == '-'
}
