package chat

import (
	"context"
	"fmt"
)

// ids runs a query of one integer column; never nil.
func ids(ctx context.Context, q querier, query string, args ...any) ([]int64, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	defer rows.Close()
	list := []int64{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read ids: %w", err)
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

// eachRow runs a query and visits its rows, all read and closed when it returns.
func eachRow(ctx context.Context, q querier, visit func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
