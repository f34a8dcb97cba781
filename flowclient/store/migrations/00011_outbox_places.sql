-- +goose Up
-- What is owed, by place: looking for what is due takes as long as there are
-- places, however many messages wait in each.
CREATE INDEX outbox_owed_place ON outbox (bot, place, id) WHERE owed = 1;
