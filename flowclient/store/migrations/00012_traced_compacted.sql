-- +goose Up
-- A refusal, a lock and a freeze are found by the trace of the request, as an
-- intent is. The column is computed: rows of before have it too.
ALTER TABLE events ADD COLUMN trace_id TEXT GENERATED ALWAYS AS
    (substr(coalesce(json_extract(CAST(body AS TEXT), '$.origin.trace'), json_extract(CAST(body AS TEXT), '$.trace'), ''), 4, 32)) VIRTUAL;
CREATE INDEX events_trace ON events (trace_id, seq) WHERE trace_id <> '';

-- Up to which instant a trail was compacted: what is older may be gone, is
-- never recorded again, and nothing younger is ever deleted.
CREATE TABLE compacted (
    trail  TEXT PRIMARY KEY,
    before INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- +goose StatementBegin
CREATE TRIGGER compacted_stays BEFORE DELETE ON compacted BEGIN
    SELECT RAISE(ABORT, 'how far a trail was compacted is never forgotten');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER compacted_grows BEFORE UPDATE ON compacted WHEN NEW.trail <> OLD.trail OR NEW.before < OLD.before BEGIN
    SELECT RAISE(ABORT, 'how far a trail was compacted only goes on');
END;
-- +goose StatementEnd

-- The trails are still only ever added to, but for their old ends.
DROP TRIGGER events_stay;
-- +goose StatementBegin
CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN OLD.at >= coalesce((SELECT before FROM compacted WHERE trail = 'events'), OLD.at) BEGIN
    SELECT RAISE(ABORT, 'events are never deleted while they are kept');
END;
-- +goose StatementEnd
DROP TRIGGER intents_stay;
-- +goose StatementBegin
CREATE TRIGGER intents_stay BEFORE DELETE ON intents
WHEN OLD.settled IS NULL OR OLD.at >= coalesce((SELECT before FROM compacted WHERE trail = 'intents'), OLD.at) BEGIN
    SELECT RAISE(ABORT, 'intents are never deleted while they are kept');
END;
-- +goose StatementEnd
DROP TRIGGER decisions_stay;
-- +goose StatementBegin
CREATE TRIGGER decisions_stay BEFORE DELETE ON decisions
WHEN OLD.at >= coalesce((SELECT before FROM compacted WHERE trail = 'decisions'), OLD.at) BEGIN
    SELECT RAISE(ABORT, 'decisions are never deleted while they are kept');
END;
-- +goose StatementEnd

-- What was indexed of a row goes with it.
-- +goose StatementBegin
CREATE TRIGGER intents_subjects_gone AFTER DELETE ON intents WHEN OLD.kind IN ('promote', 'rollback') BEGIN
    DELETE FROM subjects WHERE kind = OLD.kind AND at = OLD.at AND seq = OLD.seq
        AND component IN (SELECT m.value ->> '$.outcome.component' FROM json_each(CAST(OLD.body AS TEXT), '$.moves') AS m);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_subject_gone AFTER DELETE ON events WHEN OLD.component <> '' BEGIN
    DELETE FROM subjects WHERE component = OLD.component AND kind = OLD.kind AND at = OLD.at AND seq = OLD.seq;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_subjects_gone AFTER DELETE ON events
WHEN OLD.component = '' AND (OLD.kind IN ('promotion.refused', 'rollback.refused') OR OLD.kind GLOB 'auto.*') BEGIN
    DELETE FROM subjects WHERE kind = OLD.kind AND at = OLD.at AND seq = OLD.seq
        AND component IN (SELECT CASE m.type WHEN 'object' THEN m.value ->> '$.component' ELSE m.value END
            FROM json_each(coalesce(CAST(OLD.body AS TEXT) -> '$.set', CAST(OLD.body AS TEXT) -> '$.refusal.gates', '[]')) AS m);
END;
-- +goose StatementEnd
