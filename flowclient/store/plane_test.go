package store_test

import (
	"testing"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

func TestThePlaneInMemoryKeepsTheControlPlanesContract(t *testing.T) {
	flowtest.ControlPlane(t, func(*testing.T) flowclient.ControlPlane { return flowtest.NewPlane(time.Now) })
}
