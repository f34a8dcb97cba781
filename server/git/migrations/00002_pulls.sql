-- +goose Up
-- head is the commit last seen on the branch: refs/pull/<number>/head names it
-- for good. merge_base is empty while the pull request is open; it is frozen
-- when it ends, since the branches move on.
CREATE TABLE pulls (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
  number        INTEGER NOT NULL,
  title         TEXT NOT NULL,
  body          TEXT NOT NULL,
  base          TEXT NOT NULL,
  branch        TEXT NOT NULL,
  head          TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
  merge_base    TEXT NOT NULL DEFAULT '',
  merge_commit  TEXT NOT NULL DEFAULT '',
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  closed_at     INTEGER,
  UNIQUE (repository_id, number)
);
CREATE UNIQUE INDEX pulls_open ON pulls (repository_id, base, branch) WHERE state = 'open';

-- A merge that was decided and is not recorded yet: base is moved from before
-- to sha, and then the row goes with what is told of it.
CREATE TABLE merges (
  pull_id       INTEGER PRIMARY KEY REFERENCES pulls (id) ON DELETE CASCADE,
  before        TEXT NOT NULL,
  sha           TEXT NOT NULL,
  delete_branch INTEGER NOT NULL
);

CREATE TABLE labels (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  color         TEXT NOT NULL, -- six hex digits
  description   TEXT NOT NULL,
  UNIQUE (repository_id, name)
);

CREATE TABLE pull_labels (
  pull_id  INTEGER NOT NULL REFERENCES pulls (id) ON DELETE CASCADE,
  label_id INTEGER NOT NULL REFERENCES labels (id) ON DELETE CASCADE,
  PRIMARY KEY (pull_id, label_id)
) WITHOUT ROWID;

CREATE TABLE comments (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  pull_id    INTEGER NOT NULL REFERENCES pulls (id) ON DELETE CASCADE,
  body       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX comments_pull ON comments (pull_id, id);
