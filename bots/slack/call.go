package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"
)

// answerLimit bounds what is read of an answer, in bytes.
const answerLimit = 16 << 20

// result is what every answer of the Web API says.
type result struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"` // the scope that is lacking
	Metadata struct {
		Cursor   string   `json:"next_cursor"`
		Messages []string `json:"messages"` // what is wrong, in sentences
	} `json:"response_metadata"`
}

func (r *result) outcome() error {
	switch {
	case r.OK:
		return nil
	case r.Error == "":
		return errors.New("the answer is none of Slack's")
	}
	return slack.SlackErrorResponse{Err: r.Error, Needed: r.Needed, ResponseMetadata: slack.ResponseMetadata{Messages: r.Metadata.Messages}}
}

// call makes one call of the Web API with the bot's token and decodes what the
// answer's type names, and nothing else: what is made of the rest elsewhere (the
// blocks of a message that comes back) is much work for nothing, and may fail. An
// error is as the library's: a slack.SlackErrorResponse, a slack.StatusCodeError, a *LimitedError.
func (t *Transport) call(ctx context.Context, method string, form url.Values, answer interface{ outcome() error }) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address+method, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+t.cfg.Tokens.Bot)
	resp, err := t.web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case resp.StatusCode != http.StatusOK:
		return slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	case len(text) > answerLimit:
		return fmt.Errorf("%s: an answer of more than %d bytes", method, answerLimit)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s: the answer is none of Slack's: %w", method, err)
	}
	if err := answer.outcome(); err != nil {
		var refused slack.SlackErrorResponse
		if errors.As(err, &refused) {
			return refused
		}
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
