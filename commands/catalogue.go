package commands

import (
	"context"
	"errors"
	"strings"

	"platform.dev/platform/bots/markup"
)

// Catalogue gives one sample of each message kind that this package makes, for
// golden files and for people who want to see what a bot says.
func Catalogue() []markup.Message {
	type args struct {
		Project   string `arg:"" help:"The project."`
		Component string `help:"Only this component." placeholder:"component"`
	}
	ship := Typed(Command{
		Bot: "sample", Verb: "ship", Summary: "ship a project", Examples: []string{"ship shop", "ship shop --component shop-web"},
		Effect: Write, Action: "project:ship",
	}, func(context.Context, Request, *args, Reply) error { return nil })
	list := Command{Bot: "sample", Verb: "list", Summary: "list the projects", Examples: []string{"list"}, Effect: Read, Run: ship.Run}
	r, err := NewRegistry(ship, list)
	if err != nil {
		panic(err) // the sample is constant, and the tests make it
	}
	explained, err := r.HelpFor("sample", "ship")
	if err != nil {
		panic(err)
	}
	samples := []markup.Message{r.Help("sample"), explained}
	for _, text := range []string{"shp shop", "ship", `ship "shop`, strings.Repeat("long ", MaxText)} {
		_, err := r.Parse("sample", text)
		var usage *UsageError
		if errors.As(err, &usage) {
			samples = append(samples, usage.Message)
		}
	}
	samples = append(samples, nothingAsked(confirmVerb).Message)
	return samples
}
