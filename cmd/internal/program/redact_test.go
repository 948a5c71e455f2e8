package program

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// hidden is a text as the redactor shows it.
func hidden(t *testing.T, environ []string, text string) string {
	t.Helper()
	var b strings.Builder
	if _, err := fmt.Fprint(NewRedactor(&b, environ), text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A secret is hidden as it is, and as it stands in an address or a quoted text.
func TestASecretIsHiddenInEveryForm(t *testing.T) {
	const secret = `wJal/rXUt+nF EMI"x`
	environ := []string{"AWS_SECRET_ACCESS_KEY=" + secret}
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), fmt.Sprintf("%q", secret)} {
		if got := hidden(t, environ, "put: "+form+" is wrong"); got != "put: *** is wrong" && got != `put: "***" is wrong` {
			t.Errorf("%s is shown as %s", form, got)
		}
	}
}

// mc takes key, secret and token as they stand, also where they are no URL.
func TestSecretsOfAliasesAreHiddenAsMcReadsThem(t *testing.T) {
	for _, secret := range []string{"secretY", "secret%zz/+", "secret@at", "sec ret"} {
		for _, end := range []string{"host", "host:9000", "host/"} {
			environ := []string{"MC_HOST_a=https://accessX:" + secret + ":tokenZ@" + end, "MC_HOST_b=http://accessY:" + secret + "@" + end}
			if got := hidden(t, environ, "accessX, accessY, "+secret+", tokenZ"); got != "***, ***, ***, ***" {
				t.Errorf("%q: %s", environ, got)
			}
		}
	}
}

func TestSignaturesAreHidden(t *testing.T) {
	got := hidden(t, nil, "Authorization:[AWS4-HMAC-SHA256 Credential=x/s3, Signature=0606c2] https://h/k?X-Amz-Credential=k%2Fs3&X-Amz-Signature=0606c2&x=1")
	const want = "Authorization:[AWS4-HMAC-SHA256 Credential=x/s3, Signature=***] https://h/k?X-Amz-Credential=***&X-Amz-Signature=***&x=1"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Of two secrets of which one begins with the other, neither is half shown.
func TestALongerSecretIsHiddenWhole(t *testing.T) {
	got := hidden(t, []string{"A_TOKEN=abcd", "B_SECRET=abcdefgh", "C_PASSWORD=cdefghij"}, "abcd abcdefgh cdefghij")
	if got != "*** *** ***" {
		t.Errorf("got %s", got)
	}
}

func TestTheAccessKeyAndPasswordsOfAddressesAreHidden(t *testing.T) {
	environ := []string{
		"AWS_ACCESS_KEY_ID=AKIACANARY", "HTTPS_PROXY=http://me:proxypass@proxy:3128",
		"AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/token", "SHORT_TOKEN=abc",
	}
	got := hidden(t, environ, "AKIACANARY by proxypass, ftp://u:p@h and x+y://u:p@h, from /var/run/token, abc, persistent://public/default/a@b")
	const want = "*** by ***, ftp://***@h and x+y://***@h, from /var/run/token, abc, persistent://public/default/a@b"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A bar shows the name of a topic, which may be anything.
func TestABarShowsNamesEscaped(t *testing.T) {
	var b strings.Builder
	s := &Session{Progress: true, console: &console{w: &b}}
	bar := s.NewBar("run \x1b]0;owned\x07", 1, Steps)
	bar.Add(1)
	bar.Close()
	if got := b.String(); strings.Contains(got, "\x1b]0;owned") || !strings.Contains(got, `run \x1b]0;owned\a`) {
		t.Errorf("got %q", got)
	}
}
