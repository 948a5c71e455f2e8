package cases

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// result is what a command left.
type result struct {
	out, err string
	code     int
}

// try runs a command with these variables and no others but PATH and HOME.
func try(t *testing.T, env []string, stdin string, words ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var out, errs strings.Builder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	code := 0
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return result{out.String(), errs.String(), code}
}

// dropCondition makes a service one that takes no notice of the condition, as
// some are, and as one behind a careless proxy is.
func dropCondition(_ http.ResponseWriter, r *http.Request) bool {
	r.Header.Del("If-None-Match")
	return false
}

func credentials(s *service) []string {
	return []string{
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_ENDPOINT_URL_S3=" + s.url, "AWS_REGION=us-east-1",
		"MC_HOST_it=http://key:secret@" + strings.TrimPrefix(s.url, "http://"),
	}
}

// A store that takes no notice of the condition is refused before anything is
// in it, by the doctor and by the first create; mended, it is let in.
func TestAnUnfitStoreIsRefusedBeforeTheFirstCommit(t *testing.T) {
	for _, store := range []string{"s3://bucket/prefix", "minio://it/bucket/prefix"} {
		s := startService(t, dropCondition)
		env := append(credentials(s), "LEDGERFOLD_STORE="+store)
		refused := try(t, env, "", "compact", "create", "orders")
		for _, want := range []string{"the store cannot hold topics", "create-over-existing", "If-None-Match", "another store", "compact doctor"} {
			if refused.code != 1 || refused.out != "" || !strings.Contains(refused.err, want) {
				t.Errorf("create: exit %d, %q, want %q in\n%s", refused.code, refused.out, want, refused.err)
			}
		}
		if demo := try(t, env, "", "compact", "demo", "--sample"); demo.code != 1 || !strings.Contains(demo.err, "cannot hold topics") {
			t.Errorf("demo: exit %d\n%s", demo.code, demo.err)
		}
		if left := s.keys(); len(left) > 0 {
			t.Errorf("%q is left", left)
		}

		s.mu.Lock()
		s.answer = nil
		s.mu.Unlock()
		if r := try(t, env, "", "compact", "create", "orders"); r.code != 0 {
			t.Errorf("mended: exit %d\n%s", r.code, r.err)
		}
		before := s.asked()
		if r := try(t, env, "", "compact", "topics"); r.code != 0 || s.asked() != before+1 {
			t.Errorf("listing topics: exit %d, %d requests, want 1", r.code, s.asked()-before)
		}
	}
}

// What the doctor finds is kept, and then counts for who makes a topic.
func TestTheDoctorsVerdictIsKept(t *testing.T) {
	s := startService(t, dropCondition)
	env := append(credentials(s), "LEDGERFOLD_STORE=minio://it/bucket")
	r := try(t, env, "", "compact", "doctor")
	var report struct {
		Store, Verdict string
		Checks         []struct{ Name, Verdict, Seen, Breaks string }
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("%v in %q, %s", err, r.out, r.err)
	}
	if r.code != 1 || report.Verdict != "fail" || report.Store != "minio://it/bucket" || len(report.Checks) != 14 {
		t.Errorf("exit %d: %+v", r.code, report)
	}
	for _, c := range report.Checks {
		if c.Verdict == "fail" && !strings.Contains(r.err, c.Name+": "+c.Seen) {
			t.Errorf("%s is not told of: %s", c.Name, r.err)
		}
	}
	if left := s.keys(); len(left) != 1 || !strings.HasSuffix(left[0], "-fail") || !strings.HasPrefix(left[0], "doctor/verdict-1/") {
		t.Errorf("%q is left", left)
	}
	s.mu.Lock()
	s.answer = nil
	s.mu.Unlock()
	if r := try(t, env, "", "compact", "create", "orders"); r.code != 1 || !strings.Contains(r.err, "kept-verdict") {
		t.Errorf("create: exit %d\n%s", r.code, r.err)
	}
}

// Where nobody answers, or the credentials are wrong, nothing is said of the
// store.
func TestAStoreThatCannotBeExaminedIsNotJudged(t *testing.T) {
	s := startService(t, func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusForbidden, "AccessDenied", "no")
		return true
	})
	for _, words := range [][]string{{"doctor"}, {"create", "orders"}} {
		r := try(t, append(credentials(s), "LEDGERFOLD_STORE=s3://bucket"), "", append([]string{"compact"}, words...)...)
		if r.code != 2 || r.out != "" || strings.Contains(r.err, "cannot hold") {
			t.Errorf("%s: exit %d\n%s", words, r.code, r.err)
		}
	}
}
