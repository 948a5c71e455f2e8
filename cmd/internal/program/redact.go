package program

import (
	"io"
	"net/url"
	"regexp"
	"strings"
)

// userInfo finds the user and password of addresses, wherever they stand in a
// text. A password may itself hold any of ":/?#", badly escaped, so all that
// stands before the last "@" of the word goes.
var userInfo = regexp.MustCompile(`(?i)\b(https?|s3|minio|file)://[^\s"'<>]*@`)

// Redactor is standard error: it takes out secrets before anything is shown,
// wherever an error or a log line got them from.
type Redactor struct {
	w       io.Writer
	secrets *strings.Replacer
}

// NewRedactor hides user information in addresses, and the values of those
// variables (as os.Environ has them) that hold secrets.
func NewRedactor(w io.Writer, environ []string) *Redactor {
	var pairs []string
	hide := func(secret string) {
		if len(secret) >= 4 { // shorter ones would black out plain words
			pairs = append(pairs, secret, "***")
		}
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case strings.Contains(name, "SECRET"), strings.Contains(name, "TOKEN"), strings.Contains(name, "PASSWORD"):
			hide(value)
		case strings.HasPrefix(name, "MC_HOST_"):
			if u, err := url.Parse(value); err == nil && u.User != nil {
				password, _ := u.User.Password()
				hide(password)
			}
		}
	}
	return &Redactor{w: w, secrets: strings.NewReplacer(pairs...)}
}

// Address is the address of a store as it may be shown.
func Address(address string) string { return userInfo.ReplaceAllString(address, "$1://***@") }

// Write shows p without secrets. A line has to come in one piece, as log lines
// and errors do.
func (r *Redactor) Write(p []byte) (int, error) {
	text := r.secrets.Replace(Address(string(p)))
	if _, err := io.WriteString(r.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
