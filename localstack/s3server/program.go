package s3server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// program makes the command that serves s. It runs with an environment of its
// own: the credentials are in it, and not among the arguments, which every user
// of the machine can see.
type program func(s *Server) (*exec.Cmd, error)

func chooseProgram(ctx context.Context, options Options) (program, error) {
	path := options.MinIO
	if path == "" {
		path = os.Getenv("LEDGERFOLD_MINIO")
	}
	if path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return nil, fmt.Errorf("LEDGERFOLD_MINIO: %w", err)
		}
		return minioServer(path), nil
	}
	path, err := install(ctx)
	if err != nil {
		return nil, err
	}
	return versitygw(path), nil
}

func minioServer(path string) program {
	return func(s *Server) (*exec.Cmd, error) {
		data, err := s.data("data")
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(path, "server", "--quiet", "--address", s.address, data)
		cmd.Env = append(environment(),
			"MINIO_ROOT_USER="+s.key, "MINIO_ROOT_PASSWORD="+s.secret, "MINIO_BROWSER=off", "HOME="+s.dir)
		return cmd, nil
	}
}

// versitygw keeps what does not fit into a file in its extended attributes, or
// beside it where the file system has none.
func versitygw(path string) program {
	return func(s *Server) (*exec.Cmd, error) {
		data, err := s.data("data")
		if err != nil {
			return nil, err
		}
		args := []string{"--port", s.address, "--region", region, "--keep-alive", "--quiet", "posix"}
		if !hasXattr(data) {
			sidecar, err := s.data("sidecar")
			if err != nil {
				return nil, err
			}
			args = append(args, "--sidecar", sidecar)
		}
		cmd := exec.Command(path, append(args, data)...)
		cmd.Env = append(environment(), "ROOT_ACCESS_KEY="+s.key, "ROOT_SECRET_KEY="+s.secret)
		return cmd, nil
	}
}

// environment is what a server needs of ours. The rest might set it up in ways
// that nobody expects here.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "TMPDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
