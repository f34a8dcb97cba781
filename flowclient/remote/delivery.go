package remote

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// lastDelivery is the newest answer that was read of what is deployed, and the
// tag that names it: while it stays true, neither is it sent again nor decoded.
type lastDelivery struct {
	mu     sync.Mutex
	tag    string // "": none
	answer flowclient.Delivery
}

func (l *lastDelivery) get() (tag string, answer flowclient.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tag, l.answer
}

func (l *lastDelivery) set(tag string, answer flowclient.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tag, l.answer = tag, answer
}

// Delivery is what is deployed where and what built it. The list is the
// caller's own; what its components point to is shared with later answers, and
// only to be read.
func (c *Client) Delivery(ctx context.Context) (flowclient.Delivery, error) {
	tag, had := c.delivery.get()
	header := http.Header{}
	if tag != "" {
		header.Set("If-None-Match", tag)
	}
	said, err := c.ask(ctx, c.reads, http.MethodGet, wire.DeliveryPath, "", header, nil)
	if err != nil {
		return flowclient.Delivery{}, err
	}
	if said.status != http.StatusNotModified || tag == "" {
		had = flowclient.Delivery{}
		if err := said.decode(ctx, &had); err != nil {
			return flowclient.Delivery{}, err
		}
		c.delivery.set(said.tag, had)
	}
	return flowclient.Delivery{Components: slices.Clone(had.Components)}, nil
}
