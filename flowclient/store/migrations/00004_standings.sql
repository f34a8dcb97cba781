-- +goose Up
-- What the automatic pass remembers. Instants are Unix nanoseconds in UTC.

CREATE TABLE holds (
    component TEXT PRIMARY KEY,
    project   TEXT NOT NULL,
    release   TEXT NOT NULL,
    who       TEXT NOT NULL,
    at        INTEGER NOT NULL
) STRICT;

CREATE TABLE backoffs (
    component TEXT PRIMARY KEY,
    until     INTEGER NOT NULL
) STRICT;

CREATE TABLE episodes (
    project     TEXT NOT NULL,
    subject     TEXT NOT NULL,
    cause       TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    since       INTEGER NOT NULL,
    PRIMARY KEY (project, subject, cause)
) STRICT;
