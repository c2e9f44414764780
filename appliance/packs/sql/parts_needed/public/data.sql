CREATE TABLE uses (product TEXT NOT NULL, part TEXT NOT NULL, pieces INTEGER NOT NULL, PRIMARY KEY (product, part));
INSERT INTO uses VALUES ('bike', 'wheel', 2), ('bike', 'frame', 1), ('wheel', 'spoke', 20), ('wheel', 'rim', 1), ('cart', 'wheel', 4), ('cart', 'board', 3);
