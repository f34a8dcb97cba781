package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

func TestAControllerOverTheStoreKeepsTheContractOfReviews(t *testing.T) {
	flowtest.Reviews(t, func(t *testing.T) flowtest.ReviewWorld {
		p, s := flowtest.NewPlane(time.Now), fresh(t)
		c := flowtest.NewController(t, p, s, fixtures.Templates())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		t.Cleanup(func() { stop(); assert.NoError(t, <-ended) })
		p.Watch(c.Changed)
		p.Told(func(d flowclient.PullDelivery) { assert.NoError(t, c.Delivered(context.Background(), d)) })
		return flowtest.ReviewWorld{World: flowtest.World{Flow: c, ControlPlane: p, Journal: s, Patience: 5 * time.Second}, People: p}
	})
}
