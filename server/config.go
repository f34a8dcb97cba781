package server

import (
	"io/fs"
	"log/slog"
	"time"

	"platform.dev/platform/flowclient/store/sqlite"
)

// Config is how the platform is started. The zero value of every field but
// Data, Templates, Now and Log is the default of `platform up`.
type Config struct {
	Data      string     // data directory, made with mode 0700
	Ports     PortChoice // where surfaces listen
	Templates fs.FS      // tops: static, pipeline, world
	// NoHooks keeps the git server from delivering hooks: pushes then wait as durable rows.
	NoHooks bool
	// OTLP is the base address of a receiver of traces elsewhere (OTLP over HTTP), such as
	// http://127.0.0.1:4318: spans go there besides the embedded observer. Empty: only there.
	OTLP string
	// MaxReviews is how many review environments there may be at one time; 0 is the default, 2, below 0 none.
	MaxReviews int
	// ReviewTTL is how long a review environment stays without activity on its pull request; 0: until it is closed.
	ReviewTTL time.Duration
	// Free tells the memory that new work could use, in bytes; nil reads the machine's.
	Free      func() (int64, error)
	Committed sqlite.Committed // told of each durable write; nil in production
	Now       func() time.Time
	Log       *slog.Logger
}

// Domain is the name under which applications answer: <environment>-<project>.<Domain>.
const Domain = "apps.platform.localhost"

// hostAliases ends the names that surfaces answer to besides the loopback ones.
const hostAliases = ".platform.localhost"

// The fixed names of a fresh platform.
const (
	namespace    = "default"
	organisation = "platform"
	pipelineRepo = organisation + "/pipeline"
	gitAdmin     = "platform-admin"
	readSecret   = "git-read" // SecretReference that builds clone with
)
