-- +goose Up
-- A fingerprint of the request: a key that comes again with another one is
-- another request. Empty for intents that were recorded without it.
ALTER TABLE intents ADD COLUMN asked TEXT NOT NULL DEFAULT '';

-- Old deliveries are forgotten by their age.
CREATE INDEX deliveries_at ON deliveries (at);
