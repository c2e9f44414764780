CREATE TABLE uses (product TEXT NOT NULL, part TEXT NOT NULL, pieces INTEGER NOT NULL, PRIMARY KEY (product, part));
INSERT INTO uses VALUES ('bike', 'a', 2), ('bike', 'b', 2), ('a', 'c', 3), ('b', 'c', 3), ('c', 'd', 2), ('d', 'e', 5);
