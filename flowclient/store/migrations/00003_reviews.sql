-- +goose Up
-- What is remembered of pull requests, each with its review environment. marks
-- and touched are written by whoever hears deliveries, the rest by the pass.
CREATE TABLE pulls (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    repo    TEXT NOT NULL,
    number  INTEGER NOT NULL,
    marks   INTEGER NOT NULL,
    touched INTEGER,
    seen    INTEGER NOT NULL DEFAULT 0,
    busy    INTEGER NOT NULL DEFAULT 0,
    body    BLOB NOT NULL,
    due     INTEGER GENERATED ALWAYS AS (busy OR seen < marks) STORED,
    UNIQUE (repo, number)
) STRICT;
CREATE INDEX pulls_due ON pulls (id) WHERE due;

-- Manifests as they were last applied, and what the control plane had after that.
CREATE TABLE applied (
    repo TEXT NOT NULL,
    key  TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (repo, key)
) STRICT;

-- The trace context that a commit was asked for in.
CREATE TABLE traces (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    sha         TEXT NOT NULL UNIQUE,
    traceparent TEXT NOT NULL,
    trace_id    TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;
CREATE INDEX traces_id ON traces (trace_id);

-- What evidence looks intents and events up by.
ALTER TABLE intents ADD COLUMN project TEXT GENERATED ALWAYS AS
    (coalesce(json_extract(CAST(body AS TEXT), '$.project'), '')) VIRTUAL;
ALTER TABLE intents ADD COLUMN trace_id TEXT GENERATED ALWAYS AS
    (substr(coalesce(json_extract(CAST(body AS TEXT), '$.origin.trace'), json_extract(CAST(body AS TEXT), '$.request.origin.trace'), ''), 4, 32)) VIRTUAL;
CREATE INDEX intents_project ON intents (project, seq);
CREATE INDEX intents_trace ON intents (trace_id, seq) WHERE trace_id <> '';
CREATE INDEX events_project ON events (project, seq);
