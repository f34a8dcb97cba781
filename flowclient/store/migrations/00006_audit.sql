-- +goose Up
-- What the audit trail and the delivery measures look rows up by. Nothing here
-- is written by anybody: columns are computed, and subjects is kept by the
-- file itself as an index over lists within bodies, which SQL has none for.
ALTER TABLE events ADD COLUMN who TEXT GENERATED ALWAYS AS
    (CASE WHEN kind GLOB 'auto.*' THEN 'auto' ELSE
        coalesce(json_extract(CAST(body AS TEXT), '$.origin.who'), json_extract(CAST(body AS TEXT), '$.who'), '') END) VIRTUAL;

CREATE INDEX events_kind ON events (kind, at, seq);
CREATE INDEX events_project_kind ON events (project, kind, at, seq);
CREATE INDEX events_who ON events (who, kind, at, seq) WHERE who <> '';
CREATE INDEX intents_kind ON intents (kind, at, seq);
CREATE INDEX intents_project_kind ON intents (project, kind, at, seq);
CREATE INDEX intents_who ON intents (who, kind, at, seq);

-- Which components a row is about: kinds of intents and of events differ.
CREATE TABLE subjects (
    component TEXT NOT NULL,
    kind      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (component, kind, at, seq)
) STRICT, WITHOUT ROWID;

-- Of a promotion or rollback, each component that it was asked for or planned;
-- of an event, its component, and of one about several, each of them.
INSERT INTO subjects (component, kind, at, seq)
    SELECT DISTINCT m.value ->> '$.outcome.component', i.kind, i.at, i.seq
    FROM intents AS i, json_each(CAST(i.body AS TEXT), '$.moves') AS m
    WHERE i.kind IN ('promote', 'rollback') AND m.value ->> '$.outcome.component' <> '';
INSERT INTO subjects (component, kind, at, seq)
    SELECT component, kind, at, seq FROM events WHERE component <> '';
INSERT INTO subjects (component, kind, at, seq)
    SELECT DISTINCT m.value ->> '$.component', e.kind, e.at, e.seq
    FROM events AS e, json_each(CAST(e.body AS TEXT), '$.refusal.gates') AS m
    WHERE e.component = '' AND e.kind IN ('promotion.refused', 'rollback.refused') AND m.value ->> '$.component' <> '';

-- +goose StatementBegin
CREATE TRIGGER intents_subjects AFTER INSERT ON intents WHEN NEW.kind IN ('promote', 'rollback') BEGIN
    INSERT INTO subjects (component, kind, at, seq)
        SELECT DISTINCT m.value ->> '$.outcome.component', NEW.kind, NEW.at, NEW.seq
        FROM json_each(CAST(NEW.body AS TEXT), '$.moves') AS m WHERE m.value ->> '$.outcome.component' <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_subject AFTER INSERT ON events WHEN NEW.component <> '' BEGIN
    INSERT INTO subjects (component, kind, at, seq) VALUES (NEW.component, NEW.kind, NEW.at, NEW.seq);
END;
-- +goose StatementEnd
-- A refusal lists the gates that judged components, the automatic pass its set.
-- +goose StatementBegin
CREATE TRIGGER events_subjects AFTER INSERT ON events
WHEN NEW.component = '' AND (NEW.kind IN ('promotion.refused', 'rollback.refused') OR NEW.kind GLOB 'auto.*') BEGIN
    INSERT INTO subjects (component, kind, at, seq)
        SELECT DISTINCT CASE m.type WHEN 'object' THEN m.value ->> '$.component' ELSE m.value END AS named, NEW.kind, NEW.at, NEW.seq
        FROM json_each(coalesce(CAST(NEW.body AS TEXT) -> '$.set', CAST(NEW.body AS TEXT) -> '$.refusal.gates', '[]')) AS m WHERE named <> '';
END;
-- +goose StatementEnd

-- The trail is only ever added to: a statement that would do otherwise is refused.
-- +goose StatementBegin
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER intents_stay BEFORE DELETE ON intents BEGIN
    SELECT RAISE(ABORT, 'intents are never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER intents_fixed BEFORE UPDATE ON intents WHEN OLD.settled IS NOT NULL
    OR (NEW.seq, NEW.id, NEW.key, NEW.kind, NEW.asked, NEW.who, NEW.at, NEW.body) IS NOT (OLD.seq, OLD.id, OLD.key, OLD.kind, OLD.asked, OLD.who, OLD.at, OLD.body)
BEGIN
    SELECT RAISE(ABORT, 'of an intent only the outcome is added, once');
END;
-- +goose StatementEnd
