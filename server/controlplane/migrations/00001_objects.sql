-- +goose Up
CREATE TABLE objects (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation; never given twice
    kind         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    uid          TEXT    NOT NULL,
    labels       TEXT    NOT NULL, -- JSON object
    annotations  TEXT    NOT NULL, -- JSON object
    spec         TEXT    NOT NULL, -- JSON, canonical
    status       TEXT    NOT NULL, -- JSON, '' before the first reconcile
    generation   INTEGER NOT NULL, -- counts changes of spec
    revision     INTEGER NOT NULL, -- counts changes of labels, annotations and spec: the ETag
    created      INTEGER NOT NULL, -- Unix milliseconds, like every time here
    spec_updated INTEGER NOT NULL,
    deleted      INTEGER,          -- when its deletion was asked for, while what it holds is being removed
    settled      INTEGER NOT NULL DEFAULT 0, -- nothing outside the file can change it any more
    UNIQUE (kind, name)
) STRICT;

-- What objects name: owners, releases, repositories. Lists are narrowed, and dependents found, by it.
CREATE TABLE refs (
    field  TEXT    NOT NULL,
    value  TEXT    NOT NULL,
    object INTEGER NOT NULL REFERENCES objects (id) ON DELETE CASCADE,
    PRIMARY KEY (field, value, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_by_object ON refs (object);

-- Answered webhook deliveries, so that a redelivery starts nothing.
CREATE TABLE deliveries (
    id     TEXT    PRIMARY KEY,
    at     INTEGER NOT NULL,
    answer TEXT    NOT NULL -- JSON
) STRICT;
CREATE INDEX deliveries_by_time ON deliveries (at);

-- +goose Down
DROP TABLE deliveries;
DROP TABLE refs;
DROP TABLE objects;
