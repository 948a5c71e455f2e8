package open_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/open"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func none(string) string { return "" }

// wantOne fails the test unless all spellings name one store: what is put
// through each is seen through all the others.
func wantOne(t *testing.T, env func(string) string, spellings ...string) {
	t.Helper()
	want := ""
	for i, spelling := range spellings {
		s, err := open.Open(t.Context(), spelling, env)
		if err != nil {
			t.Fatalf("Open(%q) = %v", spelling, err)
		}
		key := string(rune('a' + i))
		if err := s.Put(t.Context(), "m/"+key, bytes.NewReader(nil)); err != nil {
			t.Fatalf("Put through %q = %v", spelling, err)
		}
		want += key
		got := ""
		for e, err := range s.List(t.Context(), "m/", "") {
			if err != nil {
				t.Fatal(err)
			}
			got += strings.TrimPrefix(e.Key, "m/")
		}
		if got != want {
			t.Errorf("through %q are %q, want %q", spelling, got, want)
		}
	}
}

func TestAFolderIsOneStoreHoweverItIsSpelled(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	wantOne(t, none,
		dir+"/store", dir+"/store/", dir+"/store///", dir+"/./store", dir+"/x/../store",
		"store", "./store", "store/",
		"file://"+dir+"/store", "file://"+dir+"/store/", "file://localhost"+dir+"/store", "file:"+dir+"/store",
		"FILE://"+dir+"/st%6Fre",
	)
}

func TestABucketIsOneStoreHoweverItIsSpelled(t *testing.T) {
	server := s3servertest.Start(t)
	bucket := "s3://" + server.Bucket()
	query := "?endpoint=" + server.Endpoint() + "&region=us-east-1"
	wantOne(t, server.Getenv,
		bucket+"/a/b", bucket+"/a/b/", bucket+"/a/b///", "S3://"+server.Bucket()+"/a/b",
		bucket+"/a/b"+query, bucket+"/a/b/"+query, bucket+"/a/b"+query+"&path_style=true",
		server.PrefixURL("a/b"), server.MinioURL()+"/a/b", server.MinioURL()+"/a/b/", server.MinioURL()+"/a/b?region=us-east-1",
	)
	wantOne(t, server.Getenv, server.URL(), bucket, bucket+"/", server.MinioURL(), server.MinioURL()+"/")
}

func TestWhatHasNoSchemeIsAPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{`C:\b`, "a:b", "nos3:x", "user@host", "?", "#", "%", "s3", "~"} {
		s, err := open.Open(t.Context(), path, none)
		if err != nil {
			t.Errorf("Open(%q) = %v", path, err)
			continue
		}
		if err := s.Put(t.Context(), "k", bytes.NewReader(nil)); err != nil {
			t.Errorf("Put in %q = %v", path, err)
		}
		if _, err := os.Stat(filepath.Join(path, "k")); err != nil {
			t.Errorf("%q: the object is not there: %v", path, err)
		}
	}
}

func TestOpenMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	for _, spelling := range []string{dir, "file://" + dir} {
		if _, err := open.Open(t.Context(), spelling, none); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat = %v, want no such folder", err)
	}
}

// refused are texts that name no store, and the scheme or reason that the error
// is to name. Where a secret could stand is CANARY.
var refused = map[string]string{
	"":                                   "nothing",
	"mem://":                             "mem",
	"ftp://user:CANARY@host/x":           "ftp",
	"https://host/CANARY":                "https",
	"s3a://bucket":                       "s3a",
	"gs://bucket":                        "gs",
	"file://relative/CANARY":             "host",
	"file:CANARY":                        "absolute",
	"file://":                            "absolute",
	"file:///a?CANARY":                   "%3F",
	"file:///a#CANARY":                   "%23",
	"s3:bucket/CANARY":                   "s3",
	"s3://":                              "s3",
	"s3:///CANARY":                       "s3",
	"s3://key:CANARY@bucket":             "credentials",
	"s3://CANARY@bucket":                 "credentials",
	"s3://bucket:80/CANARY":              "s3",
	"s3://key:CA/NARY:CANARY@bucket":     "s3",
	"s3://b/../CANARY":                   "prefix",
	"s3://b//CANARY":                     "prefix",
	"minio://alias/b//CANARY":            "prefix",
	"s3://b/a//CANARY":                   "prefix",
	"s3://b/%00CANARY":                   "prefix",
	"s3://b?secret=CANARY":               "endpoint, region, path_style",
	"s3://b?region=a&region=CANARY":      "each once",
	"s3://b?path_style=CANARY":           "path_style",
	"s3://b?endpoint=CANARY":             "endpoint",
	"s3://b?endpoint=http://u:CANARY@h":  "endpoint",
	"s3://b?endpoint=http://%25zzCANARY": "endpoint",
	"s3://b?a=%zzCANARY":                 "query",
	"s3://b#CANARY":                      "#",
	"s3://%zz:CANARY@b":                  "malformed",
	"minio://alias":                      "bucket",
	"minio://alias/":                     "bucket",
	"minio://alias/b?endpoint=CANARY":    "region",
	"minio://k:CANARY@alias/b":           "credentials",
	"minio://alias/b/../CANARY":          "prefix",
	"minio:alias/CANARY":                 "minio",
}

func TestWhatNamesNoStoreIsRefusedInSilence(t *testing.T) {
	for text, want := range refused {
		_, err := open.Open(t.Context(), text, none)
		if !errors.Is(err, open.ErrURL) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q) = %v, want ErrURL with %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("Open(%q) repeats what may be a secret: %v", text, err)
		}
		for _, form := range []string{"file:///", "s3://bucket", "minio://alias"} {
			if !strings.Contains(err.Error(), form) {
				t.Errorf("Open(%q) = %v, want it to show the form %s", text, err, form)
			}
		}
	}
}

func TestAnAliasThatIsNotSetIsNamed(t *testing.T) {
	_, err := open.Open(t.Context(), "minio://nowhere/bucket", none)
	if !errors.Is(err, objstore.ErrInvalid) || !strings.Contains(err.Error(), "MC_HOST_nowhere") {
		t.Errorf("Open = %v, want ErrInvalid that names the variable", err)
	}
}

func TestAFileIsNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Open(t.Context(), path, none); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("Open = %v, want an error", err)
	}
}

// No text makes Open panic or repeat what stands where a password does.
func FuzzOpen(f *testing.F) {
	for text := range refused {
		f.Add(text)
	}
	f.Add("\x00") // once a store that was nil and was not
	env := func(name string) string {
		switch name {
		case "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY":
			return "x"
		case "MC_HOST_alias":
			return "http://x:x@127.0.0.1:1"
		}
		return ""
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := open.Open(t.Context(), text, env)
		if (s == nil) == (err == nil) {
			t.Fatalf("Open(%q) = %v, %v", text, s, err)
		}
		scheme, _, ok := strings.Cut(text, "://")
		if !ok || err == nil {
			return
		}
		secret := "Sec-" + "ret42"
		if _, err := open.Open(t.Context(), scheme+"://user:"+secret+"@host", env); errors.Is(err, open.ErrURL) && strings.Contains(err.Error(), secret) {
			t.Errorf("Open repeats a password: %v", err)
		}
	})
}
