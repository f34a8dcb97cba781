-- +goose Up
CREATE TABLE users (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  email     TEXT    NOT NULL UNIQUE, -- in lower case
  full_name TEXT    NOT NULL,
  is_bot    INTEGER NOT NULL,
  role      INTEGER NOT NULL,
  api_key   TEXT    NOT NULL,        -- why the file has mode 0600
  joined_at INTEGER NOT NULL
) STRICT;

CREATE TABLE streams (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  name_key    TEXT    NOT NULL UNIQUE, -- the name in lower case: names differ by more than case
  description TEXT    NOT NULL,
  creator_id  INTEGER REFERENCES users (id), -- null: made by the operator
  created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE subscriptions (
  stream_id INTEGER NOT NULL REFERENCES streams (id),
  user_id   INTEGER NOT NULL REFERENCES users (id),
  PRIMARY KEY (stream_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscriptions_user ON subscriptions (user_id);

-- Where a message goes: a stream, or a direct conversation of these members.
CREATE TABLE recipients (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  stream_id INTEGER UNIQUE REFERENCES streams (id),
  members   TEXT    UNIQUE, -- user ids, ascending, separated by commas
  CHECK ((stream_id IS NULL) <> (members IS NULL))
) STRICT;

CREATE TABLE messages (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, always increasing
  recipient_id INTEGER NOT NULL REFERENCES recipients (id),
  sender_id    INTEGER NOT NULL REFERENCES users (id),
  topic        TEXT    NOT NULL, -- empty in direct conversations
  topic_key    TEXT    NOT NULL, -- the topic in lower case
  content      TEXT    NOT NULL,
  html         TEXT    NOT NULL,
  client       TEXT    NOT NULL,
  sent_at      INTEGER NOT NULL,
  edited_at    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX messages_place ON messages (recipient_id, topic_key, id);
CREATE INDEX messages_recipient ON messages (recipient_id, id);
CREATE INDEX messages_sender ON messages (sender_id, id);

-- A message as one user has it: made on sending for every reader of that moment.
CREATE TABLE copies (
  user_id    INTEGER NOT NULL REFERENCES users (id),
  message_id INTEGER NOT NULL REFERENCES messages (id),
  flags      INTEGER NOT NULL,
  PRIMARY KEY (user_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX copies_message ON copies (message_id);

CREATE TABLE edits (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id   INTEGER NOT NULL REFERENCES messages (id),
  user_id      INTEGER NOT NULL REFERENCES users (id),
  edited_at    INTEGER NOT NULL,
  prev_content TEXT, -- null: the content stayed
  prev_html    TEXT,
  prev_topic   TEXT, -- null: the topic stayed
  topic        TEXT
) STRICT;
CREATE INDEX edits_message ON edits (message_id);

CREATE TABLE reactions (
  message_id INTEGER NOT NULL REFERENCES messages (id),
  user_id    INTEGER NOT NULL REFERENCES users (id),
  emoji_code TEXT    NOT NULL,
  emoji_name TEXT    NOT NULL,
  position   INTEGER NOT NULL, -- the order in which a message's reactions came
  PRIMARY KEY (message_id, user_id, emoji_code)
) STRICT, WITHOUT ROWID;
