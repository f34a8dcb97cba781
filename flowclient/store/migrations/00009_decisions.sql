-- +goose Up
-- What bots ask before they go on. Instants are Unix nanoseconds in UTC.
CREATE TABLE questions (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    bot     TEXT NOT NULL,
    payload BLOB NOT NULL,
    until   INTEGER NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    by      TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL DEFAULT '',
    settled INTEGER
) STRICT;
CREATE INDEX questions_until ON questions (bot, until);

-- What bots decided about what people asked for.
CREATE TABLE decisions (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    key  TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    at   INTEGER NOT NULL,
    body BLOB NOT NULL,
    who  TEXT GENERATED ALWAYS AS (coalesce(json_extract(CAST(body AS TEXT), '$.persona'), '')) VIRTUAL
) STRICT;
CREATE INDEX decisions_kind ON decisions (kind, seq);
CREATE INDEX decisions_who ON decisions (who, seq) WHERE who <> '';

-- The trail is only ever added to.
-- +goose StatementBegin
CREATE TRIGGER decisions_stay BEFORE DELETE ON decisions BEGIN
    SELECT RAISE(ABORT, 'decisions are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER decisions_fixed BEFORE UPDATE ON decisions BEGIN
    SELECT RAISE(ABORT, 'decisions are never changed');
END;
-- +goose StatementEnd
