package flow

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sort"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// page is what a request without other parameters asks for of a list, and the
// cursor of what is behind it, "" where nothing is.
func page[T any](r *http.Request, list string, place func(T) string, load func(context.Context) ([]T, error)) (items []T, next string, err error) {
	p, err := wire.PageRequest(list, r.URL.RawQuery)
	if err != nil {
		return nil, "", err
	}
	all, err := load(r.Context())
	if err != nil {
		return nil, "", err
	}
	items, next = part(list, p, all, place)
	return items, next, nil
}

// part is the part of a list that is asked for. place says where an item
// stands, as a text that it keeps, that no other item has, and that sorts as
// the list does.
func part[T any](list string, p wire.Page, all []T, place func(T) string) (items []T, next string) {
	if p.After != "" {
		all = all[sort.Search(len(all), func(i int) bool { return place(all[i]) > p.After }):]
	}
	if len(all) > p.Limit {
		all = all[:p.Limit]
		next = wire.Cursor(list, place(all[p.Limit-1]))
	}
	return append([]T{}, all...), next
}

func placeOfBuild(b flowclient.Build) string {
	return b.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000000Z ") + b.Run
}

func placeOfReview(r flowclient.Review) string { return ascending(r.Line) }

func placeOfLock(l flowclient.Lock) string { return ascending(l.ID) }

// placeOfWalkthrough begins with the newest.
func placeOfWalkthrough(w flowclient.Walkthrough) string { return ascending(math.MaxInt64 - w.ID) }

// ascending is a number that is not negative, as text that sorts like it.
func ascending(n int64) string { return fmt.Sprintf("%019d", n) }
