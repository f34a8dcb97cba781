package slack

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
)

// fatalPause is how long a message waits while Slack refuses the account: Run
// ends with the reason, and the message must still be there after it was mended.
const fatalPause = time.Minute

// What Slack's error codes mean. A code in none of the lists is a refusal of that one call, for good.
var (
	// The account or its tokens: nothing can be done until somebody mends it.
	codesFatal = []string{
		"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type",
		"org_login_required", "team_access_not_granted", "app_missing_action_url",
	}
	// A permission is lacking, which the app's owner may grant later.
	codesDenied = []string{"missing_scope", "no_permission", "access_denied", "ekm_access_denied", "accesslimited", "restricted_action"}
	// Something at Slack broke, perhaps after the call was carried out.
	codesLost = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}
	// Too much at a time.
	codesLimited = []string{"ratelimited", "rate_limited", "message_limit_exceeded"}
	// The blocks of a message are refused; with others, or without, it may be taken.
	codesBlocks = []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
	// The conversation, or the thread, is not there (for this bot).
	codesNowhere = []string{"channel_not_found", "thread_not_found", "not_in_channel", "message_not_found", "is_archived"}
	// The message can be changed no more.
	codesTooOld = []string{
		"message_not_found", "cant_update_message", "edit_window_closed", "msg_too_long", "is_inactive", "update_failed",
		"channel_not_found", "is_archived", "not_in_channel", "streaming_state_conflict",
	}
)

// is tells whether err is an answer of Slack with one of the codes.
func is(err error, codes ...string) bool {
	var e slack.SlackErrorResponse
	return errors.As(err, &e) && slices.Contains(codes, e.Err)
}

// fatal tells whether err ends everything, and says plainly what to do.
func fatal(bot string, err error) (error, bool) {
	var status slack.StatusCodeError
	switch {
	case is(err, codesFatal...):
		return fmt.Errorf("Slack does not accept the tokens of %s; put the right ones into the bot's file of tokens: %w", bot, err), true //nolint:revive,staticcheck // a name
	case is(err, "missing_scope"):
		var e slack.SlackErrorResponse
		errors.As(err, &e)
		return fmt.Errorf("the Slack app of %s lacks the scope %s; add it on the app's page and install the app again: %w", bot, e.Needed, err), true
	case errors.As(err, &status) && status.Code == 404:
		return fmt.Errorf("there is no Slack where %s looks for it; mend the address (api) in the bot's file of tokens: %w", bot, err), true
	}
	return nil, false
}

// retry turns an error of a call into the transport's answer: what a later
// attempt may mend is a *bots.RetryError, anything else is final.
func retry(err error) error {
	var limited *LimitedError
	var again *bots.RetryError
	var answer slack.SlackErrorResponse
	switch {
	case errors.As(err, &again):
		return err
	case errors.As(err, &limited):
		return &bots.RetryError{After: limited.After, Err: err}
	case is(err, codesFatal...), is(err, codesDenied...):
		return &bots.RetryError{After: fatalPause, Err: err}
	case is(err, codesLimited...):
		return &bots.RetryError{After: defaultRetryAfter, Err: err}
	case is(err, codesLost...):
		return &bots.RetryError{Unknown: true, Err: err}
	case errors.As(err, &answer):
		return err
	default:
		return &bots.RetryError{Unknown: lost(err), Err: err}
	}
}

// lost tells whether a call without a clear answer may have been carried out:
// unless the connection was never made, or something in front of Slack refused.
func lost(err error) bool {
	var status slack.StatusCodeError
	if errors.As(err, &status) {
		return status.Code >= 500 || status.Code < 400
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}
