package main

import (
	"fmt"
	"log/slog"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/server"
)

// confirmations opens the policy of confirming, which is read again when it
// changes; without a file there is none.
func (u *upCmd) confirmations(log *slog.Logger) (server.Confirmer, error) {
	if u.ConfirmPolicy == "" {
		return bots.Confirmations(nil), nil
	}
	policy, err := bots.OpenConfirmations(u.ConfirmPolicy, time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("--confirm-policy: %w", err)
	}
	return policy, nil
}

// rate is how much one person may ask, as server.Config has it: below 0 for any number.
func (u *upCmd) rate() bots.Rate {
	if u.CommandRate == 0 {
		return bots.Rate{PerMinute: -1}
	}
	return bots.Rate{PerMinute: u.CommandRate, Burst: u.CommandBurst}
}
