package s3_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/buckettest"
	"github.com/ledgerfold/ledgerfold/objstore/s3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noSurroundings hides the variables and files of whoever runs the test.
func noSurroundings(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it afterwards
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", t.TempDir())
}

func none(string) string { return "" }

// Without credentials nothing is asked of the network, and the first error says
// what to set.
func TestOpenWithoutCredentialsSaysWhatToSet(t *testing.T) {
	noSurroundings(t)
	_, err := s3.Open(t.Context(), s3.Settings{Bucket: "ledger"}, none)
	if !errors.Is(err, objstore.ErrDenied) {
		t.Fatalf("Open = %v, want ErrDenied", err)
	}
	for _, want := range []string{"ledger", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, want it to name %s", err, want)
		}
	}
}

// The SDK looks in the user's files, and finds a profile with an endpoint.
func TestOpenUsesAProfile(t *testing.T) {
	noSurroundings(t)
	service := buckettest.NewService(t)
	file := filepath.Join(t.TempDir(), "config")
	config := "[profile here]\nregion = eu-west-1\nendpoint_url = " + service.URL +
		"\naws_access_key_id = FROMPROFILE\naws_secret_access_key = secret\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_PROFILE", "here")

	s, err := s3.Open(t.Context(), s3.Settings{Bucket: buckettest.Bucket}, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "there", 10); err != nil {
		t.Fatal(err)
	}
	got := service.Requests()[0].Header.Get("Authorization")
	if !strings.Contains(got, "Credential=FROMPROFILE/") || !strings.Contains(got, "/eu-west-1/s3/") {
		t.Errorf("signed as %s, want the key and the region of the profile", got)
	}
}

func TestSettingsComeBeforeVariables(t *testing.T) {
	noSurroundings(t)
	service := buckettest.NewService(t)
	env := func(name string) string {
		switch name {
		case "AWS_REGION":
			return "eu-north-1"
		case "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL":
			return "http://127.0.0.1:1"
		}
		return canaries(name)
	}
	s, err := s3.Open(t.Context(), s3.Settings{Bucket: buckettest.Bucket, Endpoint: service.URL, Region: "auto"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "there", 10); err != nil {
		t.Fatal(err)
	}
	if got := service.Requests()[0].Header.Get("Authorization"); !strings.Contains(got, "/auto/s3/") {
		t.Errorf("signed as %s, want the region auto", got)
	}
}

func TestAnEndpointWithASecretIsRefusedInSilence(t *testing.T) {
	noSurroundings(t)
	for _, endpoint := range []string{
		"http://u:" + buckettest.Secret + "@127.0.0.1:1", "http://127.0.0.1:1?x=" + buckettest.Secret,
		"ftp://" + buckettest.Key, buckettest.Key, "http://%zz" + buckettest.Key,
	} {
		for name, open := range map[string]func() (objstore.Store, error){
			"setting": func() (objstore.Store, error) {
				return s3.Open(t.Context(), s3.Settings{Bucket: "b", Endpoint: endpoint}, canaries)
			},
			"variable": func() (objstore.Store, error) {
				return s3.Open(t.Context(), s3.Settings{Bucket: "b"}, func(name string) string {
					if name == "AWS_ENDPOINT_URL" {
						return endpoint
					}
					return canaries(name)
				})
			},
		} {
			_, err := open()
			if !errors.Is(err, objstore.ErrInvalid) {
				t.Errorf("Open with the endpoint in a %s = %v, want ErrInvalid", name, err)
			} else if text := err.Error(); strings.Contains(text, buckettest.Secret) || strings.Contains(text, buckettest.Key) {
				t.Errorf("Open tells a secret: %s", text)
			}
		}
	}
}

// The metadata service of EC2 hands out credentials. Elsewhere nobody answers
// there, which takes long to find out, so it is asked only on request.
func TestTheMetadataServiceIsAskedOnRequest(t *testing.T) {
	noSurroundings(t)
	asked := 0
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch path.Base(r.URL.Path) {
		case "token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			fmt.Fprint(w, "token")
		case "role":
			fmt.Fprint(w, `{"Code":"Success","AccessKeyId":"FROMEC2","SecretAccessKey":"x","Token":"x","Expiration":"2999-01-01T00:00:00Z"}`)
		default:
			fmt.Fprint(w, "role")
		}
	}))
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)

	if _, err := s3.Open(t.Context(), s3.Settings{Bucket: "b"}, none); !errors.Is(err, objstore.ErrDenied) || asked != 0 {
		t.Errorf("Open = %v after %d questions, want ErrDenied and none", err, asked)
	}
	env := func(name string) string {
		if name == "AWS_EC2_METADATA_DISABLED" {
			return "false"
		}
		return ""
	}
	if _, err := s3.Open(t.Context(), s3.Settings{Bucket: "b"}, env); err != nil || asked == 0 {
		t.Errorf("Open = %v after %d questions, want credentials from there", err, asked)
	}
}

// A company's own certificates are in AWS_CA_BUNDLE.
func TestACertificateBundleIsTrusted(t *testing.T) {
	noSurroundings(t)
	service := buckettest.NewService(t)
	tls := httptest.NewTLSServer(http.HandlerFunc(service.ServeHTTP))
	defer tls.Close()
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	get := func() error {
		s, err := s3.Open(t.Context(), s3.Settings{Bucket: buckettest.Bucket, Endpoint: tls.URL}, canaries)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), "there", 10)
		return err
	}
	if get() == nil {
		t.Error("Get without the bundle succeeds, want an error: the certificate is not trusted")
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	if err := get(); err != nil {
		t.Errorf("Get with the bundle = %v", err)
	}
}

// Where the SDK's checksums are wanted, the parts of an upload carry them too.
func TestChecksumsWorkWhenTheyAreWanted(t *testing.T) {
	server := s3servertest.Start(t)
	env := func(name string) string {
		switch name {
		case "AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION":
			return "when_supported"
		}
		return server.Getenv(name)
	}
	s, err := s3.Open(t.Context(), s3.Settings{Bucket: server.Bucket()}, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 10, 17 << 20} {
		body := bytes.Repeat([]byte("x"), size)
		if err := s.Put(t.Context(), "a", bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), "a", int64(size)); err != nil || !bytes.Equal(got, body) {
			t.Errorf("Get = %d bytes, %v; want the %d that were put", len(got), err, size)
		}
		if err := s.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
}

// A body that was damaged on its way is found out by its checksum.
func TestADamagedBodyIsAnErrorWhenChecksumsAreWanted(t *testing.T) {
	noSurroundings(t)
	service := buckettest.NewService(t)
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Amz-Checksum-Crc32", "AAAAAA==")
		return false
	})
	env := func(name string) string {
		if name == "AWS_RESPONSE_CHECKSUM_VALIDATION" {
			return "when_supported"
		}
		return canaries(name)
	}
	s, err := s3.Open(t.Context(), s3.Settings{Bucket: buckettest.Bucket, Endpoint: service.URL}, env)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(t.Context(), "there", 10); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("Get = %q, %v; want an error about the checksum", b, err)
	}
}
