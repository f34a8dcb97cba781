-- +goose Up
-- Instants are Unix nanoseconds in UTC. An absent instant is NULL.

CREATE TABLE intents (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    key     TEXT NOT NULL UNIQUE,
    kind    TEXT NOT NULL,
    who     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    body    BLOB NOT NULL,
    outcome BLOB,
    settled INTEGER
) STRICT;
CREATE INDEX intents_open ON intents (seq) WHERE settled IS NULL;

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    key         TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,
    at          INTEGER NOT NULL,
    project     TEXT NOT NULL,
    component   TEXT NOT NULL,
    walkthrough INTEGER NOT NULL,
    body        BLOB NOT NULL
) STRICT;

-- Rows are never deleted: the history of set and clear is the table itself.
CREATE TABLE locks (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    component   TEXT NOT NULL,
    sha         TEXT NOT NULL,
    environment TEXT NOT NULL,
    reason      TEXT NOT NULL,
    who         TEXT NOT NULL,
    at          INTEGER NOT NULL,
    releases    BLOB NOT NULL,
    set_key     TEXT NOT NULL,
    cleared_at  INTEGER,
    cleared_by  TEXT,
    clear_key   TEXT
) STRICT;
CREATE UNIQUE INDEX locks_held ON locks (component, sha, environment) WHERE cleared_at IS NULL;
CREATE INDEX locks_set_key ON locks (set_key);
CREATE INDEX locks_clear_key ON locks (clear_key) WHERE clear_key IS NOT NULL;

CREATE TABLE sightings (
    binding TEXT PRIMARY KEY,
    release TEXT NOT NULL,
    since   INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    key      TEXT NOT NULL UNIQUE,
    template TEXT NOT NULL,
    project  TEXT NOT NULL,
    topic    TEXT NOT NULL,
    who      TEXT NOT NULL,
    step     TEXT NOT NULL,
    started  INTEGER NOT NULL,
    ended    INTEGER,
    result   TEXT NOT NULL,
    message  TEXT NOT NULL,
    state    BLOB
) STRICT;
-- One walkthrough at a time, also against a second writer.
CREATE UNIQUE INDEX runs_under_way ON runs ((ended IS NULL)) WHERE ended IS NULL;

CREATE TABLE heard (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    key      TEXT NOT NULL UNIQUE,
    at       INTEGER NOT NULL,
    payload  BLOB NOT NULL,
    outcome  TEXT,
    finished INTEGER
) STRICT;
CREATE INDEX heard_unfinished ON heard (seq) WHERE finished IS NULL;

CREATE TABLE cursors (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE deliveries (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

-- owed is 1 while the newest revision is neither delivered nor given up.
CREATE TABLE outbox (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    key       TEXT NOT NULL UNIQUE,
    bot       TEXT NOT NULL,
    place     BLOB NOT NULL,
    payload   BLOB NOT NULL,
    put       INTEGER NOT NULL,
    rev       INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    sent_id   TEXT NOT NULL,
    sent      INTEGER,
    due       INTEGER NOT NULL,
    tried     INTEGER,
    why       TEXT NOT NULL,
    dropped   INTEGER,
    owed      INTEGER GENERATED ALWAYS AS (dropped IS NULL AND delivered < rev) STORED
) STRICT;
CREATE INDEX outbox_owed ON outbox (bot, id) WHERE owed = 1;
