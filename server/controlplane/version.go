package controlplane

import (
	"net/http"
	"runtime"
	"runtime/debug"

	"platform.dev/platform/server/web"
)

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
