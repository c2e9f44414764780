CREATE TABLE messages (kind TEXT NOT NULL CHECK (kind IN ('mail', 'chat')), id INTEGER NOT NULL, sender TEXT, body TEXT, PRIMARY KEY (kind, id));
INSERT INTO messages SELECT 'mail', id, sender, body FROM mails UNION ALL SELECT 'chat', id, sender, said FROM chats;
DROP TABLE mails;
DROP TABLE chats;
