package slack

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"gopkg.in/ini.v1"
)

// Tokens are the credentials of one app in one workspace.
type Tokens struct {
	Bot string // bot token, "xoxb-...": speaks
	App string // app-level token with connections:write, "xapp-...": hears
	API string // base address of the Web API; "" for Slack's own
}

// tokenFileLimit bounds a file of tokens.
const tokenFileLimit = 64 << 10

// OpenTokens reads a file of tokens, by bot. A file that anybody but its owner
// may read is refused: whoever has the tokens is the bot.
func OpenTokens(path string) (map[string]Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: mode %v: it must be a file that its owner alone may read; chmod 600 it", path, mode)
	}
	tokens, err := ParseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, nil
}

// ParseTokens reads tokens by bot: a section with the bot's name for each, with
// the keys bot_token, app_token and, for a Slack elsewhere, api. What a file
// holds never stands in an error.
func ParseTokens(r io.Reader) (map[string]Tokens, error) {
	text, err := io.ReadAll(io.LimitReader(r, tokenFileLimit+1))
	if err != nil {
		return nil, err
	}
	if len(text) > tokenFileLimit {
		return nil, fmt.Errorf("larger than %d bytes", tokenFileLimit)
	}
	file, err := ini.LoadSources(ini.LoadOptions{IgnoreInlineComment: true}, text)
	if err != nil {
		return nil, errors.New(`it cannot be read; write "[platform]", then "bot_token = ..." and "app_token = ...", each on a line of its own`)
	}
	tokens := map[string]Tokens{}
	for _, s := range file.Sections() {
		if s.Name() == ini.DefaultSection && len(s.Keys()) == 0 {
			continue
		}
		one, err := section(s)
		if err != nil {
			return nil, fmt.Errorf("section [%s]: %w", s.Name(), err)
		}
		tokens[s.Name()] = one
	}
	if len(tokens) == 0 {
		return nil, errors.New("there are no tokens in it; begin with the bot's name in brackets, [platform]")
	}
	return tokens, nil
}

// tokenKeys are the keys of a section.
var tokenKeys = []string{"bot_token", "app_token", "api"}

// section reads one bot's tokens.
func section(s *ini.Section) (Tokens, error) {
	for _, key := range s.KeyStrings() {
		if !slices.Contains(tokenKeys, key) {
			return Tokens{}, fmt.Errorf("key %q is unknown; the keys are %s", key, strings.Join(tokenKeys, ", "))
		}
	}
	t := Tokens{Bot: s.Key("bot_token").String(), App: s.Key("app_token").String(), API: s.Key("api").String()}
	return t, t.check()
}

// check tells what is wrong with tokens, without saying what they are.
func (t Tokens) check() error {
	switch {
	case !strings.HasPrefix(t.Bot, "xoxb-"):
		return errors.New(`bot_token: it begins with "xoxb-" (the app's page, OAuth & Permissions)`)
	case !strings.HasPrefix(t.App, "xapp-"):
		return errors.New(`app_token: it begins with "xapp-" (the app's page, Basic Information, App-Level Tokens, with the scope connections:write)`)
	}
	if t.API == "" {
		return nil
	}
	u, err := url.Parse(t.API)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return errors.New("api: give an address such as https://slack.com/api/")
	}
	return nil
}
