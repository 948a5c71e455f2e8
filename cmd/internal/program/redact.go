package program

import (
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// userInfo finds the user and password of addresses, wherever they stand in a
// text. In those of stores a password may itself hold any of ":/?#", badly
// escaped, so all that stands before the last "@" of the word goes. Others may
// be names with an "@" in them, such as persistent://public/default/a@b.
var userInfo = regexp.MustCompile(`(?i)\b(https?|s3|minio|file)://[^\s"'<>]*@|\b([a-z][a-z0-9+.-]*)://[^\s"'<>/]*@`)

// signature finds what signs a request, in the header that some services repeat
// when they refuse it, and in the addresses of requests that are signed ahead.
var signature = regexp.MustCompile(`(?i)\b(signature|x-amz-security-token|x-amz-credential)=[^\s&,;"'\]]+`)

// Redactor is standard error: it takes out secrets before anything is shown,
// wherever an error or a log line got them from.
type Redactor struct {
	w       io.Writer
	secrets *strings.Replacer
}

// NewRedactor hides user information in addresses, and the values of those
// variables (as os.Environ has them) that hold secrets.
func NewRedactor(w io.Writer, environ []string) *Redactor {
	var hide []string
	for _, variable := range environ {
		for _, secret := range secretsOf(variable) {
			if len(secret) >= 4 { // shorter ones would black out plain words
				hide = append(hide, formsOf(secret)...)
			}
		}
	}
	// The first that matches counts, and one may begin with another.
	slices.SortFunc(hide, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, text := range hide {
		pairs = append(pairs, text, "***")
	}
	return &Redactor{w: w, secrets: strings.NewReplacer(pairs...)}
}

// secretsOf lists the secrets that a variable holds.
func secretsOf(variable string) []string {
	name, value, _ := strings.Cut(variable, "=")
	has := func(word string) bool { return strings.Contains(name, word) }
	switch {
	case strings.HasSuffix(name, "_FILE"):
		return nil // where a secret is, which is what to tell when it is not there
	case name == "AWS_ACCESS_KEY_ID", has("SECRET"), has("TOKEN"), has("PASSWORD"):
		return []string{value}
	}
	// Addresses, such as those of proxies. MC_HOST_alias holds key:secret:token
	// as they are, so it need not be the URL that it looks like.
	_, rest, isAddress := strings.Cut(value, "://")
	at := strings.LastIndexByte(rest, '@')
	if !isAddress || at < 0 {
		return nil
	}
	parts := strings.SplitN(rest[:at], ":", 3)
	if !strings.HasPrefix(name, "MC_HOST_") {
		parts = parts[1:] // a user is no secret
	}
	return parts
}

// formsOf is a secret as it is, and as it stands in addresses and quoted texts.
func formsOf(secret string) []string {
	quoted := strconv.Quote(secret)
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1]}
}

// Address is the address of a store as it may be shown.
func Address(address string) string { return userInfo.ReplaceAllString(address, "$1$2://***@") }

// Write shows p without secrets. A line has to come in one piece, as log lines
// and errors do.
func (r *Redactor) Write(p []byte) (int, error) {
	text := r.secrets.Replace(signature.ReplaceAllString(Address(string(p)), "$1=***"))
	if _, err := io.WriteString(r.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
