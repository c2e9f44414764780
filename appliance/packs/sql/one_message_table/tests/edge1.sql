CREATE TABLE mails (id INTEGER PRIMARY KEY, sender TEXT, body TEXT);
CREATE TABLE chats (id INTEGER PRIMARY KEY, said TEXT, sender TEXT);
CREATE TABLE senders (name TEXT PRIMARY KEY);
INSERT INTO mails VALUES (5, 'Ann', 'x'), (6, 'Ann', 'x');
INSERT INTO chats VALUES (5, 'x', 'Ann'), (6, 'Ann', 'x'), (7, NULL, NULL);
