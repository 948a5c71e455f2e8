// Package s3server runs a real S3 server on this machine, for tests and for
// trying things out: versitygw, or MinIO where its binary is at hand. The
// server is a process of its own with a folder of its own. It listens on
// loopback with credentials made for this one start, and is gone after Stop.
package s3server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options may be left empty.
type Options struct {
	// Bucket is made at the start. If it is empty its name is "ledgerfold".
	Bucket string

	// MinIO is the path of a MinIO binary to run instead of versitygw. If it
	// is empty, the variable LEDGERFOLD_MINIO is asked.
	MinIO string

	// Port is the port to listen on. If it is 0, a free one is taken.
	Port int
}

// Server is a running S3 server with one bucket.
type Server struct {
	bucket, address string
	key, secret     string

	dir     string // holds everything, and is removed by Stop
	process *process
}

const region = "us-east-1"

// Start starts a server and waits until it answers. ctx bounds the start alone.
// The first start on a machine installs versitygw, which takes Go a minute or
// two; it is kept in the user's cache folder.
//
// The caller must Stop the server.
func Start(ctx context.Context, options Options) (*Server, error) {
	s, err := start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start a local S3 server: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, options Options) (*Server, error) {
	run, err := chooseProgram(ctx, options)
	if err != nil {
		return nil, err
	}
	// Somebody else may take the port between its choice and its use.
	const tries = 5
	for try := 1; ; try++ {
		s, err := startOn(ctx, options, run)
		if err == nil || try == tries || options.Port != 0 || ctx.Err() != nil {
			return s, err
		}
	}
}

func startOn(ctx context.Context, options Options, run program) (*Server, error) {
	port := options.Port
	if port == 0 {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "ledgerfold-s3-")
	if err != nil {
		return nil, err
	}
	s := &Server{
		bucket:  options.Bucket,
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		key:     "LOCAL" + rand.Text()[:15],
		secret:  rand.Text() + rand.Text(),
		dir:     dir,
	}
	if s.bucket == "" {
		s.bucket = "ledgerfold"
	}
	cmd, err := run(s)
	if err == nil {
		s.process, err = startProcess(cmd)
	}
	if err == nil {
		err = s.makeBucket(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// makeBucket tries until the server answers. That takes it some 50 ms.
func (s *Server) makeBucket(ctx context.Context) error {
	c, err := minio.New(s.address, &minio.Options{
		Creds:      credentials.NewStaticV4(s.key, s.secret, ""),
		Region:     region,
		MaxRetries: 1,
	})
	if err != nil {
		return err
	}
	const tries, pause = 1000, 20 * time.Millisecond
	for range tries {
		if err = c.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{Region: region}); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.process.ended:
			return fmt.Errorf("it ended at once: %w", s.process.err())
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("no bucket after %d tries: %w", tries, err)
}

// Stop ends the server and removes what it stored. It may be called again.
func (s *Server) Stop() error {
	var err error
	if s.process != nil {
		err = s.process.stop()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Ended is closed when the server's process has ended, by Stop or by itself.
func (s *Server) Ended() <-chan struct{} { return s.process.ended }

// Endpoint is the URL of the server, such as http://127.0.0.1:7070.
func (s *Server) Endpoint() string { return "http://" + s.address }

// Bucket is the name of the bucket that was made.
func (s *Server) Bucket() string { return s.bucket }

// URL is the store in the bucket, for objstore/open by way of the AWS SDK.
func (s *Server) URL() string { return s.PrefixURL("") }

// PrefixURL is the store under a prefix in the bucket.
func (s *Server) PrefixURL(prefix string) string {
	u := url.URL{Scheme: "s3", Host: s.bucket, RawQuery: "endpoint=" + s.Endpoint() + "&region=" + region}
	if prefix != "" {
		u.Path = "/" + prefix
	}
	return u.String()
}

// alias is what minio:// URLs and mc call the server.
const alias = "local"

// MinioURL is the store in the bucket, for objstore/open by way of minio-go.
func (s *Server) MinioURL() string { return "minio://" + alias + "/" + s.bucket }

// Env are the variables, as KEY=value, that the AWS tools, mc and Ledgerfold
// need to find the server and to be let in.
func (s *Server) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s.key,
		"AWS_SECRET_ACCESS_KEY=" + s.secret,
		"AWS_REGION=" + region,
		"AWS_ENDPOINT_URL_S3=" + s.Endpoint(),
		"AWS_EC2_METADATA_DISABLED=true",
		"MC_HOST_" + alias + "=http://" + s.key + ":" + s.secret + "@" + s.address,
		"LEDGERFOLD_STORE=" + s.URL(),
	}
}

// Getenv looks a variable of Env up, and no other. It has the shape of
// os.Getenv.
func (s *Server) Getenv(key string) string {
	for _, kv := range s.Env() {
		if len(kv) > len(key) && kv[:len(key)] == key && kv[len(key)] == '=' {
			return kv[len(key)+1:]
		}
	}
	return ""
}

// data returns a new folder for the server's program.
func (s *Server) data(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	return dir, os.Mkdir(dir, 0o700)
}
