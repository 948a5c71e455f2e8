// Command localstack runs an S3 server on this machine, without Docker, until
// it is interrupted. What it prints are the variables to find it with:
//
//	go run ./localstack > local.env &
//	. ./local.env
//	compact create orders
//
// The server is versitygw, which the first start installs with the Go toolchain,
// or the MinIO binary that LEDGERFOLD_MINIO names. What was stored is gone when
// it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
)

func main() {
	var options s3server.Options
	flag.IntVar(&options.Port, "port", 0, "the `port` on 127.0.0.1, or 0 for a free one")
	flag.StringVar(&options.Bucket, "bucket", "", "the `name` of the bucket to make (default ledgerfold)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "localstack:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, options s3server.Options, stdout, stderr io.Writer) error {
	fmt.Fprintln(stderr, "starting; the first start takes a minute or two")
	s, err := s3server.Start(ctx, options)
	if err != nil {
		return err
	}
	for _, kv := range s.Env() {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(stdout, "export %s=%s\n", name, quote(value))
	}
	fmt.Fprintf(stderr, "%s holds the bucket %s until it is interrupted\n", s.Endpoint(), s.Bucket())

	select {
	case <-ctx.Done():
		return s.Stop()
	case <-s.Ended():
		_ = s.Stop() // removes the folder; that the server has ended is the error
		return fmt.Errorf("the server ended by itself")
	}
}

// quote makes value one word of a shell.
func quote(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
