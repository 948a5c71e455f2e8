// Package s3 opens an objstore.Store in a bucket through the AWS SDK, whose
// whole chain of credentials works: environment, profiles, SSO, web identity,
// containers. It is the only package that imports that SDK.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/bucket"
)

// Settings say where a store is. Only Bucket is needed.
type Settings struct {
	Bucket string
	Prefix string // a key; what the store holds is under it

	// Endpoint is the URL of a service other than AWS. If it is empty,
	// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and the profile may name one.
	Endpoint string

	// Region, if it is empty, is that of AWS_REGION or of the profile, or
	// us-east-1.
	Region string

	// Addressing says whether the bucket is named in the host or in the path.
	Addressing Addressing
}

// Addressing is how requests name the bucket.
type Addressing int

const (
	Auto   Addressing = iota // InPath for an endpoint other than AWS, else InHost
	InPath                   // https://host/bucket/key
	InHost                   // https://bucket.host/key
)

// Open returns the store that settings describe. env looks up an environment
// variable, as os.Getenv does; what it does not know, the SDK looks for in the
// process's environment and in the user's files.
//
// Open finds credentials, so that their absence is known at once and not at
// the first request. The instance metadata service is asked for them only if
// AWS_EC2_METADATA_DISABLED is "false": elsewhere than on EC2 that hangs.
func Open(ctx context.Context, settings Settings, env func(string) string) (objstore.Store, error) {
	s, err := open(ctx, settings, env)
	if err != nil {
		return nil, fmt.Errorf("open s3 bucket %s: %w", settings.Bucket, err)
	}
	return s, nil
}

func open(ctx context.Context, settings Settings, env func(string) string) (objstore.Store, error) {
	if settings.Bucket == "" {
		return nil, fmt.Errorf("no bucket is named: %w", objstore.ErrInvalid)
	}
	if settings.Endpoint == "" && env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true" {
		settings.Endpoint = first(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, loadOptions(settings, env)...)
	if err != nil {
		return nil, err
	}
	cfg.Region = first(cfg.Region, "us-east-1")
	sdk := newClient(cfg, settings, env)

	if e := sdk.Options().BaseEndpoint; e != nil {
		if err := checkEndpoint(*e); err != nil {
			return nil, err
		}
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no credentials, set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w: %w", objstore.ErrDenied, err)
	}
	return bucket.New(&client{sdk: sdk, bucket: settings.Bucket}, settings.Bucket, settings.Prefix)
}

func loadOptions(settings Settings, env func(string) string) []func(*config.LoadOptions) error {
	metadata := imds.ClientDisabled
	if env("AWS_EC2_METADATA_DISABLED") == "false" {
		metadata = imds.ClientEnabled
	}
	opts := []func(*config.LoadOptions) error{
		config.WithEC2IMDSClientEnableState(metadata),
		config.WithLogger(logging.Nop{}),
		// The SDK would send a lost Put again, and report the 412 that the
		// first one causes as if somebody else had won. See objstore/retry.
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
	}
	if region := first(settings.Region, env("AWS_REGION"), env("AWS_DEFAULT_REGION")); region != "" {
		opts = append(opts, config.WithRegion(region))
	}
	if key, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"); key != "" && secret != "" {
		static := credentials.NewStaticCredentialsProvider(key, secret, env("AWS_SESSION_TOKEN"))
		opts = append(opts, config.WithCredentialsProvider(static))
	}
	return opts
}

func newClient(cfg aws.Config, settings Settings, env func(string) string) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = noRedirects(cfg.HTTPClient)
		o.DisableLogOutputChecksumValidationSkipped = true
		if settings.Endpoint != "" {
			o.BaseEndpoint = &settings.Endpoint
		}
		custom := o.BaseEndpoint != nil
		o.UsePathStyle = settings.Addressing == InPath || settings.Addressing == Auto && custom

		// Many services refuse the checksums that the SDK has been adding for
		// AWS. Where they are wanted, the SDK's own variables ask for them.
		if custom && env("AWS_REQUEST_CHECKSUM_CALCULATION") == "" {
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		}
		if custom && env("AWS_RESPONSE_CHECKSUM_VALIDATION") == "" {
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	})
}

// noRedirects returns a client that takes a redirect for the answer, so that no
// credentials go where an answer points. It keeps the transport that the SDK
// has set up, with AWS_CA_BUNDLE in it.
func noRedirects(from aws.HTTPClient) aws.HTTPClient {
	var transport *http.Transport
	if b, ok := from.(*awshttp.BuildableClient); ok {
		transport = b.GetTransport() // a copy
	} else {
		transport = awshttp.NewBuildableClient().GetTransport()
	}
	transport.MaxIdleConnsPerHost = 64                // ranged reads come many at a time
	transport.ResponseHeaderTimeout = 2 * time.Minute // a service that is silent for so long is gone
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkEndpoint does not repeat the endpoint: it may hold a secret.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		err = errors.New("the endpoint is not of the form https://host")
	case u.User != nil:
		err = errors.New("the endpoint holds credentials, which belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.RawQuery != "" || u.Fragment != "":
		err = errors.New("the endpoint has a query or a fragment")
	default:
		return nil
	}
	return fmt.Errorf("%w: %w", err, objstore.ErrInvalid)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
