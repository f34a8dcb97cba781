-- +goose Up
-- Times are milliseconds since 1970 in UTC.
CREATE TABLE owners (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE COLLATE NOCASE,
  kind       TEXT NOT NULL CHECK (kind IN ('user', 'organization')),
  created_at INTEGER NOT NULL
);

-- A row in state creating or deleting has a directory that is being made or
-- removed; the next start ends what a crash interrupted.
CREATE TABLE repositories (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_id       INTEGER NOT NULL REFERENCES owners (id),
  name           TEXT NOT NULL COLLATE NOCASE,
  description    TEXT NOT NULL,
  private        INTEGER NOT NULL,
  default_branch TEXT NOT NULL,
  size           INTEGER NOT NULL DEFAULT 0, -- KiB on disk after the last push
  state          TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'deleting')),
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  UNIQUE (owner_id, name)
);

-- The refs as the last recorded event left them: what differs from the
-- repository on disk has not been told yet.
CREATE TABLE refs (
  repository_id INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  sha           TEXT NOT NULL,
  PRIMARY KEY (repository_id, name)
) WITHOUT ROWID;

CREATE TABLE hooks (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
  url           TEXT NOT NULL,
  secret        TEXT NOT NULL CHECK (secret <> ''),
  events        TEXT NOT NULL, -- JSON list
  active        INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
);
CREATE INDEX hooks_repository ON hooks (repository_id);

-- One row per event and hook, sent in the order of id. The row is there before
-- anything is sent and keeps its uuid over every attempt.
CREATE TABLE deliveries (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid       TEXT NOT NULL UNIQUE,
  hook_id    INTEGER NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
  event      TEXT NOT NULL,
  body       BLOB NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER NOT NULL,
  answer     TEXT NOT NULL DEFAULT '', -- of the last attempt: a status line or an error
  created_at INTEGER NOT NULL,
  ended_at   INTEGER
);
CREATE INDEX deliveries_waiting ON deliveries (hook_id, id) WHERE state = 'waiting';
CREATE INDEX deliveries_hook ON deliveries (hook_id, id);

CREATE TABLE statuses (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
  sha           TEXT NOT NULL,
  context       TEXT NOT NULL,
  state         TEXT NOT NULL,
  description   TEXT NOT NULL,
  target_url    TEXT NOT NULL,
  created_at    INTEGER NOT NULL
);
CREATE INDEX statuses_commit ON statuses (repository_id, sha, id);

-- Only a token's hash is kept.
CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  hash       BLOB NOT NULL UNIQUE,
  last_eight TEXT NOT NULL,
  scopes     TEXT NOT NULL, -- JSON list
  created_at INTEGER NOT NULL
);
