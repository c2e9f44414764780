CREATE TABLE mails (id INTEGER PRIMARY KEY, sender TEXT, body TEXT);
CREATE TABLE chats (id INTEGER PRIMARY KEY, said TEXT, sender TEXT);
CREATE TABLE senders (name TEXT PRIMARY KEY);
INSERT INTO mails VALUES (1, 'Ann', 'hello'), (2, NULL, 'news');
INSERT INTO chats VALUES (1, 'hi', 'Ben');
INSERT INTO senders VALUES ('Ann'), ('Ben');
