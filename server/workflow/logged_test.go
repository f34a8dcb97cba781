package workflow

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachLineThatIsKeptIsToldOnceInOrderWithoutSecrets(t *testing.T) {
	r := newRig(t, oneStage("1m"))
	var mu sync.Mutex
	told := map[string][]Line{}
	r.cfg.Logged = func(b Build, l Line) {
		mu.Lock()
		defer mu.Unlock()
		told[b.Project+"/"+b.Component+"/"+b.Run] = append(told[b.Project+"/"+b.Component+"/"+b.Run], l)
	}
	r.start()
	repo, sha := newRepository(t, files{"run.sh": "mkdir out; echo hello >out/index.html; i=0; while [ $i -lt 30 ]; do echo line $i; i=$((i+1)); done; echo done >&2\n"})
	r.build("run", repo, sha)
	r.succeeded("run")
	kept, err := r.s.Log(context.Background(), "run", "")
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, map[string][]Line{"shop/shop-web/run": kept}, told, "the file and whoever is told have the same")
}
