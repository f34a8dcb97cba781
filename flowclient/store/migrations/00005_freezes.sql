-- +goose Up
-- Rows are never deleted: the history of freezes is the table itself. An empty
-- project is every one.
CREATE TABLE freezes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    begins     INTEGER NOT NULL,
    ends       INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    who        TEXT NOT NULL,
    at         INTEGER NOT NULL,
    set_key    TEXT NOT NULL UNIQUE,
    cleared_at INTEGER,
    cleared_by TEXT,
    clear_key  TEXT
) STRICT;
-- What holds or is to come is among those that end last.
CREATE INDEX freezes_ends ON freezes (ends) WHERE cleared_at IS NULL;
CREATE UNIQUE INDEX freezes_clear_key ON freezes (clear_key) WHERE clear_key IS NOT NULL;
