package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

func TestAControllerOverTheStoreKeepsTheContractOfReviews(t *testing.T) {
	flowtest.Reviews(t, func(t *testing.T) flowtest.ReviewWorld {
		w, p, c := world(t)
		p.Told(func(d flowclient.PullDelivery) { assert.NoError(t, c.Delivered(context.Background(), d)) })
		return flowtest.ReviewWorld{World: w, People: p}
	})
}
