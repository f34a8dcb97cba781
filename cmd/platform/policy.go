package main

import (
	"fmt"
	"os"

	"platform.dev/platform/bots"
)

// confirmations reads the policy of confirming; without a file there is none.
func (u *upCmd) confirmations() (bots.Confirmations, error) {
	if u.ConfirmPolicy == "" {
		return nil, nil
	}
	f, err := os.Open(u.ConfirmPolicy)
	if err != nil {
		return nil, fmt.Errorf("--confirm-policy: %w", err)
	}
	defer f.Close()
	policy, err := bots.DecodeConfirmations(f)
	if err != nil {
		return nil, fmt.Errorf("--confirm-policy %s: %w", u.ConfirmPolicy, err)
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
