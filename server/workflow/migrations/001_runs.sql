-- +goose Up

-- A run, under the name that whoever asked for it chose. Times are nanoseconds since 1970, UTC.
CREATE TABLE run (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT    NOT NULL UNIQUE,
  project       TEXT    NOT NULL,
  component     TEXT    NOT NULL,
  params        TEXT    NOT NULL,               -- JSON, as asked
  phase         TEXT    NOT NULL,
  message       TEXT    NOT NULL DEFAULT '',
  life          INTEGER NOT NULL DEFAULT 0,     -- how often it was begun
  commit_sha    TEXT    NOT NULL DEFAULT '',    -- resolved in the first life and kept
  module_commit TEXT    NOT NULL DEFAULT '',    -- likewise
  image         TEXT    NOT NULL DEFAULT '',
  workload      TEXT    NOT NULL DEFAULT '',    -- JSON
  created_at    INTEGER NOT NULL,
  started_at    INTEGER,
  completed_at  INTEGER
);
CREATE INDEX run_phase ON run (phase, id);

-- The stages of a run's present life. Stage 0 is what comes before the first named one and stands in no row.
CREATE TABLE stage (
  run          TEXT    NOT NULL REFERENCES run (name),
  seq          INTEGER NOT NULL,
  name         TEXT    NOT NULL,
  phase        TEXT    NOT NULL,
  message      TEXT    NOT NULL DEFAULT '',
  started_at   INTEGER,
  completed_at INTEGER,
  PRIMARY KEY (run, seq)
) WITHOUT ROWID;

-- The process group that a run has started and not yet seen the end of.
CREATE TABLE process (
  run     TEXT    PRIMARY KEY REFERENCES run (name),
  pgid    INTEGER NOT NULL,
  started TEXT    NOT NULL,   -- the leader's start time, in the system's own words
  dir     TEXT    NOT NULL    -- the build directory it works in
) WITHOUT ROWID;
