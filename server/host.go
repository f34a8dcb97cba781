package server

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// host is the machine that the embedded runtime runs on, as flowclient.Cluster.
type host struct {
	free func() (int64, error)
}

// AvailableMemory is the kernel's estimate of what new work could use without swapping.
func (h host) AvailableMemory(context.Context) (int64, error) {
	if h.free != nil {
		return h.free()
	}
	return memAvailable("/proc/meminfo")
}

// memAvailable reads MemAvailable (in kB there) in bytes.
func memAvailable(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "MemAvailable" {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("available memory: %s: %w", path, err)
		}
		return kb * 1024, nil
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	return 0, fmt.Errorf("available memory: %s has no MemAvailable", path)
}
