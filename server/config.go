package server

import (
	"io/fs"
	"log/slog"
	"time"

	"platform.dev/platform/bots"
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
	// DefaultSoak is the soak of projects that name none; 0: none is asked of them.
	DefaultSoak time.Duration
	// AllowSkipSoak lets people skip soak and URL check of a promotion, with a reason.
	AllowSkipSoak bool
	// CapacityMargin is the memory that capacity keeps free, in bytes; 0 is the default, 307Mi, below 0 none.
	CapacityMargin int64
	// KeepMessages is how long messages that were heard and said are kept once nothing needs them; 0 is the
	// default, 30 days, below 0 for ever. It is never less than store.MessagesNeeded.
	KeepMessages time.Duration
	// KeepHistory is how long decisions, intents and events are kept; 0 is the default, 500 days, below 0
	// for ever. It is never less than flowclient.HistoryNeeded.
	KeepHistory time.Duration
	// Slack is a file of tokens by bot, mode 0600 (slack.OpenTokens): a bot that stands in it
	// speaks and listens in Slack, and not in the embedded chat. Empty: none does.
	Slack string
	// Commands is a directory of programs that are commands of the bots (commands/exec), an absolute path. Empty: there are none.
	Commands string
	// Announcements is a directory of an operator's own words for announcements (announcer.ReadTemplates). Empty: there are none.
	Announcements string
	// Confirm says what people are asked to confirm before it is run (bots.Confirmations, bots.ConfirmFile); nil: only what is forced.
	Confirm Confirmer
	// Rate is how much one person may ask of a bot; zero is bots.DefaultRate, below 0 a minute no limit.
	Rate bots.Rate
	// Kubernetes tells of the cells' quotas in place of the embedded runtime.
	Kubernetes Kubernetes
	// Free tells the memory that new work could use, in bytes; nil reads the machine's.
	Free      func() (int64, error)
	Committed sqlite.Committed // told of each durable write; nil in production
	Now       func() time.Time
	Log       *slog.Logger
}

// Confirmer is the policy of confirming, and whether reactions are to be heard
// for it. One with a Health() error turns the controller's surface red.
type Confirmer interface {
	bots.Confirmer
	// Reactions tells whether people may confirm by a reaction.
	Reactions() bool
}

// reactions tells whether reactions are to be heard.
func (c Config) reactions() bool { return c.Confirm != nil && c.Confirm.Reactions() }

// rate is what is given, else the default.
func (c Config) rate() bots.Rate {
	if c.Rate == (bots.Rate{}) {
		return bots.DefaultRate
	}
	return c.Rate
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
