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

// CheckKey returns an ErrInvalid, which does not repeat key, unless key is one that every store takes and
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
			return err
		}
	}
	return nil
}

// CheckPrefix returns an ErrInvalid, which does not repeat prefix, unless some key begins with prefix. The
// empty prefix begins them all, and the last element may be cut off anywhere.
func CheckPrefix(prefix string) error {
	last := prefix
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		if err := CheckKey(prefix[:i]); err != nil {
			return err
		}
		last = prefix[i+1:]
	}
	return checkElement(last + "x") // makes a whole element of one that is cut off
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
		if !InAlphabet(element[i]) {
			return fmt.Errorf("byte %q is not of [A-Za-z0-9_.=-]: %w", element[i], ErrInvalid)
		}
	}
	return nil
}

// InAlphabet reports whether b may be in a path element of a key.
func InAlphabet(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
		b == '_' || b == '.' || b == '=' || b == '-'
}

// Failed is the error of a call: it names the act and the key, or the prefix,
// before err. It is nil if err is. What is no key is quoted and cut short, for
// it may hold anything and be of any length.
func Failed(act, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case key == "":
		return fmt.Errorf("%s: %w", act, err)
	case CheckPrefix(key) != nil:
		return fmt.Errorf("%s %.80q: %w", act, key, err)
	}
	return fmt.Errorf("%s %s: %w", act, key, err)
}
