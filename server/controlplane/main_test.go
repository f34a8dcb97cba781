package controlplane_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain asks that every test ends what it began.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
