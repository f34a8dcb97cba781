package store_test

import (
	"context"
	"testing"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

func TestThePlaneInMemoryKeepsTheControlPlanesContract(t *testing.T) {
	flowtest.ControlPlane(t, func(*testing.T) flowclient.ControlPlane { return flowtest.NewPlane(time.Now) })
}

func TestTheGitServerInMemoryKeepsTheContractOfPulls(t *testing.T) {
	flowtest.Pulls(t, func(*testing.T) flowtest.PullsWorld {
		p := flowtest.NewPlane(time.Now)
		return flowtest.PullsWorld{Git: p, Pulls: p, Close: p.ClosePull, Labels: p.RepositoryLabels, Comments: p.PullComments,
			Label: func(ctx context.Context, repo string, number int, name string) error {
				pull, err := p.Pull(ctx, repo, number)
				if err != nil {
					return err
				}
				return p.LabelPull(ctx, repo, number, append(pull.Labels, name)...)
			}}
	})
}
