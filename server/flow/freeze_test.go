package flow

import (
	"context"
	"testing"
	"time"

	"platform.dev/platform/flowclient"
)

// The recorder as a Freezer.

func (f *recorder) Freezes(context.Context) ([]flowclient.Freeze, error) {
	return []flowclient.Freeze{{ID: 3, Project: "shop", From: noon, Until: noon.AddDate(0, 0, 2), Reason: "the fair", Who: "sre", At: noon}}, f.note("Freezes")
}

func (f *recorder) SetFreeze(_ context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	return flowclient.Freeze{ID: 3, Project: r.Project, From: noon, Until: r.Until.UTC(), Reason: r.Reason, Who: r.Origin.Who, At: noon}, f.note("SetFreeze", r)
}

func (f *recorder) ClearFreeze(_ context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	return flowclient.Freeze{ID: r.ID, From: noon, Until: noon.AddDate(0, 0, 2), Reason: "the fair", Who: "sre", At: noon}, f.note("ClearFreeze", r)
}

func (c crowded) Freezes(context.Context) ([]flowclient.Freeze, error) {
	return numbered(c.n, func(i int) flowclient.Freeze {
		return flowclient.Freeze{ID: int64(c.n - i + i%2*2), From: noon.Add(time.Duration(i/2) * time.Nanosecond), Until: noon.AddDate(0, 0, 1), Who: "sre", Reason: "the fair", At: noon} // two at an instant
	}), nil
}

func TestThePlacesOfFreezesSortAsTheirListDoes(t *testing.T) {
	freezes, _ := crowded{n: 50}.Freezes(t.Context())
	inOrder(t, freezes, placeOfFreeze)
	inOrder(t, []flowclient.Freeze{{ID: 9, From: noon}, {ID: 10, From: noon}, {ID: 1, From: noon.In(time.FixedZone("west", -8*3600)).Add(time.Second)}}, placeOfFreeze)
}
