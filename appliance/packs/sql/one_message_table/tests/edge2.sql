CREATE TABLE mails (id INTEGER PRIMARY KEY, sender TEXT, body TEXT);
CREATE TABLE chats (id INTEGER PRIMARY KEY, said TEXT, sender TEXT);
CREATE TABLE senders (name TEXT PRIMARY KEY);
INSERT INTO chats VALUES (3, 'only', 'chat');
