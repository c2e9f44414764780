CREATE TABLE articles (code TEXT PRIMARY KEY, cents INTEGER, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE incoming (code TEXT PRIMARY KEY, cents INTEGER);
CREATE TABLE history (code TEXT, cents INTEGER);
INSERT INTO articles VALUES ('A1', 100, 5), ('A2', NULL, 6), ('a1', 7, 8), ('A4', 4, 4);
INSERT INTO incoming VALUES ('A1', NULL), ('A2', 0), ('A3', NULL), ('A5', 5), ('A4', 3);
INSERT INTO history VALUES ('A1', 90), ('A1', 90);
