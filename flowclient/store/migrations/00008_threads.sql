-- +goose Up
-- Which thread of a channel is which topic, in a chat that has threads and no
-- topics. root is the chat's name of the thread's first message.
CREATE TABLE threads (
    channel TEXT NOT NULL,
    topic   TEXT NOT NULL,
    root    TEXT NOT NULL,
    PRIMARY KEY (channel, topic)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX threads_root ON threads (channel, root);
