CREATE TABLE results (race TEXT NOT NULL, runner TEXT NOT NULL, seconds INTEGER, PRIMARY KEY (race, runner));
INSERT INTO results VALUES ('hill', 'Ada', 61), ('hill', 'Bo', 59), ('hill', 'Cy', 70), ('hill', 'Di', 80), ('lake', 'Bo', 33), ('lake', 'Ed', NULL);
