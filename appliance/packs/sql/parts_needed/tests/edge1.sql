CREATE TABLE uses (product TEXT NOT NULL, part TEXT NOT NULL, pieces INTEGER NOT NULL, PRIMARY KEY (product, part));
INSERT INTO uses VALUES ('bike', 'wheel', 2), ('bike', 'light', 2), ('light', 'screw', 3), ('wheel', 'screw', 3), ('wheel', 'hub', 1), ('hub', 'screw', 4), ('bike', 'screw', 5), ('hub', 'ball', 12), ('tandem', 'bike', 2), ('tandem', 'bolt', 9);
