-- +goose Up
-- What bots decided is part of the audit trail, and found there as intents and
-- events are. Columns are computed: rows of before have them too. Who is unknown
-- is named by the account that asked.
DROP INDEX decisions_kind;
DROP INDEX decisions_who;
ALTER TABLE decisions DROP COLUMN who;
ALTER TABLE decisions ADD COLUMN who TEXT GENERATED ALWAYS AS
    (coalesce(nullif(json_extract(CAST(body AS TEXT), '$.persona'), ''), json_extract(CAST(body AS TEXT), '$.chat_id'), '')) VIRTUAL;
ALTER TABLE decisions ADD COLUMN project TEXT GENERATED ALWAYS AS
    (coalesce(json_extract(CAST(body AS TEXT), '$.project'), '')) VIRTUAL;

CREATE INDEX decisions_kind ON decisions (kind, at, seq);
CREATE INDEX decisions_project_kind ON decisions (project, kind, at, seq);
CREATE INDEX decisions_who ON decisions (who, kind, at, seq) WHERE who <> '';
