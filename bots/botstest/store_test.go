package botstest_test

import (
	"testing"

	"platform.dev/platform/bots/botstest"
)

func TestTheStoreInMemoryKeepsTheContract(t *testing.T) {
	botstest.Stores(t, func(*testing.T) (botstest.Storage, func() botstest.Storage) {
		s := botstest.NewStore()
		return s, func() botstest.Storage { return s }
	})
}

func TestTheStoreInMemoryKeepsTheContractOfThreads(t *testing.T) {
	botstest.Threads(t, func(*testing.T) (botstest.ThreadStore, func() botstest.ThreadStore) {
		s := botstest.NewStore()
		return s, func() botstest.ThreadStore { return s }
	})
}
