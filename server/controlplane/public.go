package controlplane

import (
	"io"
	"net/http"
	"runtime"
	"runtime/debug"

	"platform.dev/platform/server/web"
)

// health answers GET /health.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) { text200(w, "OK") }

// ready answers GET /ready: 503 when the file cannot be read.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.db.Reader().PingContext(r.Context()); err != nil {
		s.log.Error("ready", "error", err)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "Not ready") // the client went away: there is nobody to tell
		return
	}
	text200(w, "Ready")
}

func text200(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // the client went away: there is nobody to tell
}

// version answers GET /version from what the compiler recorded.
func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	v := map[string]string{
		"name": "platform", "version": "(devel)", "gitRevision": "unknown", "buildTime": "unknown",
		"goOS": runtime.GOOS, "goArch": runtime.GOARCH, "goVersion": runtime.Version(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v["version"] = info.Main.Version
		}
		names := map[string]string{"vcs.revision": "gitRevision", "vcs.time": "buildTime"}
		for _, set := range info.Settings {
			if name, known := names[set.Key]; known {
				v[name] = set.Value
			}
		}
	}
	web.JSON(w, http.StatusOK, v)
}
