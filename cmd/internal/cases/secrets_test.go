package cases

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ledgerfold/ledgerfold/cmd/internal/compact"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/reader"
	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore/open"
)

// The canaries: secrets as they are given to commands, which must be in nothing
// that comes out of them. Those of AWS have the letters that real ones have.
const (
	canaryKey    = "CANARYACCESSKEY00001"
	canarySecret = "canary/Secret+Key/00000000000000000002xy"
	canaryToken  = "canary-Session-Token//0003+0003=="
	canaryUser   = "canaryuser0004"
	canaryPass   = "canary-pass:w/0005"
)

// tells lists the canaries in a text. A secret that is cut in two is one too.
func tells(text string) []string {
	var told []string
	for _, canary := range []string{canaryKey, canarySecret, canaryToken, canaryUser, canaryPass, canarySecret[:20], canaryPass[7:], "Secret%2BKey"} {
		if strings.Contains(text, canary) {
			told = append(told, canary)
		}
	}
	return append(told, regexp.MustCompile(`Signature=[0-9a-f]+`).FindAllString(text, -1)...)
}

// arguments are such that a command gets as far as the store. What a command
// that is not here takes is made up from its help.
var arguments = map[string][]string{
	"compact create":         {"orders", "--set", "retention=1h"},
	"compact doctor":         {},
	"compact demo":           {"--sample"},
	"compact run":            {"orders", "--all=false"},
	"compact set":            {"orders", "retention=1h"},
	"compact tag":            {"orders", "name"},
	"reader has-message":     {"orders", "--after", "0:0"},
	"reader consume":         {"orders", "--group", "g"},
	"reader dlq":             {"replay", "orders"},
	"reader fetch":           {"orders", "0:0", "0:1"},
	"reader changes":         {"orders", "--from-version", "0", "--to-version", "1"},
	"reader last-message-id": {"orders", "--compacted"},
}

// everyCommand lists the command lines of all commands that there are.
func everyCommand() [][]string {
	var all [][]string
	for _, p := range []*program.Program{compact.Program(), reader.Program()} {
		for _, c := range p.Commands {
			words, known := arguments[p.Name+" "+c.Name]
			if !known {
				for range max(c.Least, 0) {
					words = append(words, "orders")
				}
			}
			all = append(all, append([]string{p.Name, c.Name, "--log-level", "debug"}, words...))
		}
	}
	return all
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// echo answers every request with all that came with it, as services do in
// their explanations of a signature that does not match.
func echo(status int, code string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		message := fmt.Sprintf("%s, %s, the secret of %s is not %s; use http://%s:%s@%s, not %s", r.URL, r.Header, canaryKey, canarySecret, canaryUser, canaryPass, r.Host, canaryToken)
		refuse(w, status, code, message)
		return true
	}
}

// TestNoCommandTellsASecret runs every command at debug level against stores
// that refuse it, that are not there, and that are named wrongly, with secrets
// in every place that they are given in.
func TestNoCommandTellsASecret(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: commands that wait for a store take seconds")
	}
	aws := func(more ...string) []string {
		return append([]string{"AWS_ACCESS_KEY_ID=" + canaryKey, "AWS_SECRET_ACCESS_KEY=" + canarySecret, "AWS_SESSION_TOKEN=" + canaryToken, "AWS_REGION=us-east-1"}, more...)
	}
	mc := func(address string) string {
		return "MC_HOST_it=http://" + canaryKey + ":" + canarySecret + ":" + canaryToken + "@" + strings.TrimPrefix(address, "http://")
	}
	user := canaryUser + ":" + canaryPass + "@"
	denied, broken := startService(t, echo(http.StatusForbidden, "SignatureDoesNotMatch")), startService(t, echo(http.StatusBadRequest, "InvalidRequest"))
	nobody := closedPort(t)
	every := map[string][]string{
		"403, s3":         aws("LEDGERFOLD_STORE=s3://bucket/prefix?endpoint=" + denied.url),
		"403, minio":      {"LEDGERFOLD_STORE=minio://it/bucket", mc(denied.url)},
		"unreachable, s3": aws("LEDGERFOLD_STORE=s3://bucket", "AWS_ENDPOINT_URL_S3=http://"+nobody),
		"unreachable, mc": {"LEDGERFOLD_STORE=minio://it/bucket", mc(nobody)},
		"user in the URL": aws("LEDGERFOLD_STORE=s3://" + user + "bucket/prefix"),
	}
	few := map[string][]string{ // ways in which the one function that opens stores can fail
		"400, s3":           aws("LEDGERFOLD_STORE=s3://bucket", "AWS_ENDPOINT_URL_S3="+broken.url),
		"proxy":             aws("LEDGERFOLD_STORE=s3://bucket?endpoint=http://192.0.2.1", "HTTP_PROXY=http://"+user+nobody),
		"user, minio":       {"LEDGERFOLD_STORE=minio://" + user + "it/bucket", mc(nobody)},
		"user, http":        {"LEDGERFOLD_STORE=http://" + user + "host/bucket"},
		"user, other":       {"LEDGERFOLD_STORE=ftp://" + user + "host/bucket"},
		"user, endpoint":    aws("LEDGERFOLD_STORE=s3://bucket?endpoint=http://" + user + "host"),
		"user, AWS":         aws("LEDGERFOLD_STORE=s3://bucket", "AWS_ENDPOINT_URL_S3=http://"+user+"host"),
		"bad endpoint":      aws("LEDGERFOLD_STORE=s3://bucket", "AWS_ENDPOINT_URL=ftp://"+user+"ho st"),
		"bad alias":         {"LEDGERFOLD_STORE=minio://it/bucket", "MC_HOST_it=ftp://" + user + "host"},
		"alias, no host":    {"LEDGERFOLD_STORE=minio://it/bucket", mc("")},
		"alias, bad host":   {"LEDGERFOLD_STORE=minio://it/bucket", mc("ho st/%zz")},
		"secret in query":   aws("LEDGERFOLD_STORE=s3://bucket?secret=" + canarySecret),
		"malformed":         aws("LEDGERFOLD_STORE=s3://%zz" + user + "bucket"),
		"secret for a flag": aws("LEDGERFOLD_STORE=store", "LEDGERFOLD_OUTPUT="+canarySecret),
		"secret for a time": aws("LEDGERFOLD_STORE=store", "LEDGERFOLD_NOW="+canaryToken),
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, 32) // half of them wait for a store that is not there
	var mu sync.Mutex
	codes := map[string]int{}
	run := func(name string, env, words []string) {
		places <- struct{}{}
		defer func() { <-places }()
		r := try(t, env, `{"key":"k","value":"v"}`, words...)
		if told := tells(r.out + r.err); len(told) > 0 {
			t.Errorf("%s: %q tells %q:\n%s%s", name, words, told, r.out, r.err)
		}
		mu.Lock()
		defer mu.Unlock()
		codes[fmt.Sprint(name, ": exit ", r.code)]++
	}
	for name, env := range every {
		for _, words := range everyCommand() {
			wg.Go(func() { run(name, env, words) })
		}
	}
	for name, env := range few {
		for _, words := range [][]string{{"compact", "create", "orders"}, {"compact", "doctor"}, {"reader", "topics", "--log-level", "debug"}} {
			wg.Go(func() { run(name, env, words) })
		}
	}
	wg.Wait()
	for _, end := range slices.Sorted(maps.Keys(codes)) {
		t.Logf("%-30s %d commands", end, codes[end])
	}
}

// TestNothingThatIsStoredTellsASecret goes the whole path on a real server,
// whose credentials are the canaries, and looks through all that was said and
// all that is in the store.
func TestNothingThatIsStoredTellsASecret(t *testing.T) {
	server := s3servertest.Start(t)
	env := append(server.Env(), "LEDGERFOLD_LOG_LEVEL=debug")
	var secrets []string
	for _, variable := range server.Env() {
		name, value, _ := strings.Cut(variable, "=")
		if name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY" {
			secrets = append(secrets, value)
		}
	}
	if len(secrets) != 2 {
		t.Fatalf("the server has %d secrets", len(secrets))
	}
	look := func(what string, text []byte) {
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s tells a secret", what)
			}
		}
	}
	lines := `{"key":"k","value":"v","producer":"p","sequence":"1"}` + "\n" + `{"key":"l","value":"w","txn":"1,1"}` + "\n"
	for _, words := range [][]string{
		{"compact", "doctor"}, {"compact", "create", "orders"}, {"compact", "ingest", "orders"}, {"compact", "plan", "orders", "--price"},
		{"compact", "run", "orders"}, {"compact", "status", "orders"}, {"compact", "tag", "orders", "now"}, {"compact", "set", "orders", "retention=0s"},
		{"compact", "trim", "orders"}, {"compact", "gc", "orders", "--keep-age", "0s"}, {"compact", "verify", "orders"}, {"compact", "version"},
		{"reader", "read", "orders"}, {"reader", "stats", "orders"}, {"reader", "versions", "orders"}, {"reader", "topics"},
	} {
		r := try(t, env, lines, words...)
		if r.code != 0 {
			t.Errorf("%q: exit %d\n%s", words, r.code, r.err)
		}
		look(strings.Join(words, " "), []byte(r.out+r.err))
	}
	store, err := open.Open(t.Context(), server.URL(), server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range store.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Get(t.Context(), e.Key, e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		look(e.Key, append(body, e.Key...))
		n++
	}
	if n < 10 {
		t.Errorf("%d objects, want a topic's", n)
	}
}

// A process that dies of a fault prints where each goroutine is. SIGQUIT makes
// it do just that, with the store open.
func TestADyingProcessTellsNoSecret(t *testing.T) {
	server := s3servertest.Start(t)
	env := append(os.Environ(), server.Env()...)
	env = append(env, "GOTRACEBACK=all")
	if r := try(t, server.Env(), "", "compact", "create", "orders"); r.code != 0 {
		t.Fatal(r.err)
	}
	cmd := exec.Command("compact", "ingest", "orders", "--log-level", "debug")
	var errs strings.Builder
	cmd.Env, cmd.Stderr = env, &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(bytes.Repeat([]byte("\n"), 1<<20)); err != nil { // more than a pipe holds: it runs
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by a signal, as it should
	if !strings.Contains(errs.String(), "goroutine ") {
		t.Fatalf("no goroutines in\n%s", errs.String())
	}
	for _, variable := range server.Env() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") && strings.Contains(name, "KEY") && strings.Contains(errs.String(), value) {
			t.Errorf("%s is in\n%s", name, errs.String())
		}
	}
}

// TestOnlyFlagsAndVariablesNameAPlace puts the address of a service that must
// not be asked wherever data can hold it: names, keys, values, unknown fields,
// and a manifest in place of its objects.
func TestOnlyFlagsAndVariablesNameAPlace(t *testing.T) {
	trap := startService(t, nil)
	store := filepath.Join(t.TempDir(), "store")
	env := []string{"LEDGERFOLD_STORE=" + store, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}
	line := fmt.Sprintf(`{"key":"%[1]s","value":"%[1]s/v","producer":"%[1]s","sequence":"1","store":"%[1]s","endpoint":"%[1]s","properties":[{"key":"endpoint","value":"%[1]s"}]}`+"\n", trap.url)
	topic := trap.url + "/topic"
	for _, words := range [][]string{
		{"compact", "create", topic}, {"compact", "ingest", topic, "--source", trap.url}, {"compact", "run", topic},
		{"reader", "read", topic}, {"reader", "get", topic, trap.url}, {"compact", "verify", topic},
	} {
		if r := try(t, env, line, words...); r.code != 0 {
			t.Errorf("%q: exit %d\n%s", words, r.code, r.err)
		}
	}

	manifests, err := filepath.Glob(filepath.Join(store, "*", "m", "*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%q, %v", manifests, err)
	}
	newest := slices.Max(manifests)
	body, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := bytes.Cut(body, []byte(`"object":"d/`))
	object, _, _ := bytes.Cut(rest, []byte(`"`))
	if !found {
		t.Fatalf("no object in %s", body)
	}
	for _, elsewhere := range []string{trap.url + "/d", "s3://bucket/d", "../../secret", "/etc/passwd", "d/../../x", "d/a?endpoint=" + trap.url} {
		forged := bytes.ReplaceAll(body, append([]byte("d/"), object...), []byte(elsewhere))
		if err := os.Chmod(newest, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(newest, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, words := range [][]string{{"reader", "read", topic, "--compacted"}, {"reader", "read", topic}, {"compact", "run", topic}, {"compact", "verify", topic}, {"compact", "gc", topic}} {
			if r := try(t, env, "", words...); r.code != 6 || r.out != "" {
				t.Errorf("%s, %q: exit %d, want 6\n%s%s", elsewhere, words, r.code, r.out, r.err)
			}
		}
	}
	if n := trap.asked(); n > 0 {
		t.Errorf("the service was asked %d times", n)
	}
}

// No name that is typed or stored reaches a terminal as it is. Standard error
// is a terminal's as often as not, so it is escaped wherever it goes.
func TestNamesAreShownEscaped(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\r\ncompact: all is well"
	env := []string{"LEDGERFOLD_STORE=" + t.TempDir(), "LEDGERFOLD_LOG_LEVEL=debug", "LEDGERFOLD_OUTPUT=table"}
	try := func(words ...string) {
		t.Helper()
		r := try(t, env, `{"key":"k","value":"v"}`, words...)
		for _, stream := range []string{r.out, r.err} {
			for _, raw := range []string{"\x1b", "\x07", "\u202e", "\u009b", "\r", "\ncompact: all is well"} {
				if strings.Contains(stream, raw) {
					t.Errorf("%q shows %q:\n%q", words, raw, stream)
				}
			}
		}
	}
	every := func(but ...string) {
		for _, words := range everyCommand() {
			if slices.Contains(but, words[1]) {
				continue
			}
			for i, word := range words {
				if word == "orders" || word == "name" {
					words[i] = evil
				}
			}
			try(words...)
		}
	}
	every("create", "demo", "doctor") // the topic is not there
	try("compact", "create", evil)
	try("compact", "create", evil)
	try("compact", "ingest", evil)
	try("compact", "run", "--all")
	every("create", "demo", "doctor", "delete")
	for _, words := range [][]string{
		{"compact", evil}, {"compact", "topics", evil}, {"compact", "topics", "--" + evil}, {"compact", "topics", "-o", evil},
		{"compact", "topics", "--now", evil}, {"compact", "topics", "--log-level", evil}, {"compact", "ingest", evil, evil}, {"compact", "ingest", evil, "--format", evil},
		{"compact", "topics", "--store", "s3://" + evil}, {"compact", "set", evil, evil}, {"compact", "gc", evil, "--keep-age", evil}, {"compact", "tag", evil, evil, "--version", evil},
		{"reader", "get", evil, evil}, {"reader", "fetch", evil, evil, "0:0"}, {"reader", "read", evil, "--fields", evil}, {"reader", "read", evil, "--from", evil},
		{"reader", "read", evil, "--tag", evil}, {"reader", "read", evil, "--as-of", evil}, {"reader", "has-message", evil, "--after", evil},
		{"compact", "topics", "--store", filepath.Join(t.TempDir(), "\x1b[2J", "x")}, {"compact", "help", evil}, {"compact", "delete", evil},
	} {
		try(words...)
	}
}
