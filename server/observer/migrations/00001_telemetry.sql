-- +goose Up
-- One row a span; what OTLP says of it is kept whole, so that it can be answered whole.
CREATE TABLE span (
    id        INTEGER PRIMARY KEY,
    trace_id  BLOB    NOT NULL,
    span_id   BLOB    NOT NULL,
    parent_id BLOB    NOT NULL, -- empty: the span is a root
    name      TEXT    NOT NULL,
    service   TEXT    NOT NULL, -- service.name of the resource
    namespace TEXT    NOT NULL, -- service.namespace of the resource
    started   INTEGER NOT NULL, -- nanoseconds
    ended     INTEGER NOT NULL,
    envelope  BLOB    NOT NULL, -- ResourceSpans with the scope and without spans
    body      BLOB    NOT NULL, -- Span
    UNIQUE (trace_id, span_id)
);
CREATE INDEX span_started ON span (started);

CREATE TABLE stream (
    id     INTEGER PRIMARY KEY,
    labels TEXT NOT NULL UNIQUE -- a JSON object, keys sorted
);
CREATE TABLE line (
    id     INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    at     INTEGER NOT NULL, -- nanoseconds
    text   TEXT    NOT NULL
);
CREATE INDEX line_at ON line (at);
CREATE INDEX line_stream ON line (stream, at);

-- What retention took away, so that an answer can say that it is not complete.
CREATE TABLE dropped (
    what  TEXT PRIMARY KEY, -- spans, lines
    count INTEGER NOT NULL,
    upto  INTEGER NOT NULL -- time of the newest one dropped
);
