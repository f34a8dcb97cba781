-- +goose Up
-- Browsers that are signed in. The cookie's value is not here: who reads this table cannot use it.
CREATE TABLE sessions (
  hash       TEXT    PRIMARY KEY, -- SHA-256 of the cookie's value, in hex
  user_id    INTEGER NOT NULL REFERENCES users (id),
  expires_at INTEGER NOT NULL     -- unix seconds
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id, expires_at);

-- The sender's own name for one act of sending: what is sent again under it is the same message.
ALTER TABLE messages ADD COLUMN origin TEXT;
CREATE UNIQUE INDEX messages_origin ON messages (sender_id, origin) WHERE origin IS NOT NULL;

CREATE INDEX copies_unread ON copies (user_id, message_id) WHERE flags & 1 = 0;
