package git

import (
	"context"
	"fmt"
)

// Due counts the deliveries that have been neither accepted nor given up: those
// due now, those waiting for a later attempt, and those behind them.
func (s *Server) Due(ctx context.Context) (int, error) {
	var n int
	err := s.file.Reader().QueryRowContext(ctx,
		`SELECT count(*) FROM deliveries d JOIN hooks h ON h.id = d.hook_id WHERE d.state = 'waiting' AND h.active`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count deliveries: %w", err)
	}
	return n, nil
}
