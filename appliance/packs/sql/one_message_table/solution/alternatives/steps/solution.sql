CREATE TABLE messages (kind TEXT NOT NULL, id INTEGER NOT NULL, sender TEXT, body TEXT, CHECK (kind = 'chat' OR kind = 'mail'), PRIMARY KEY (kind, id));
INSERT INTO messages (id, sender, body, kind) SELECT id, sender, said, 'chat' FROM chats;
INSERT INTO messages (id, sender, body, kind) SELECT *, 'mail' FROM mails;
DROP TABLE chats;
DROP TABLE mails;
