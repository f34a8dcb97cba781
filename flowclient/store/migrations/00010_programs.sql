-- +goose Up
-- Runs of programs that must not happen twice. Instants are Unix nanoseconds in UTC.
CREATE TABLE programs (
    key    TEXT PRIMARY KEY,
    at     INTEGER NOT NULL,
    answer BLOB,
    ended  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX programs_ended ON programs (ended) WHERE ended IS NOT NULL;
