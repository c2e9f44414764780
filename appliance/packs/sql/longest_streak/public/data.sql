CREATE TABLE visits (id INTEGER PRIMARY KEY, member TEXT NOT NULL, day TEXT NOT NULL);
INSERT INTO visits VALUES (1, 'Ann', '2024-02-28'), (2, 'Ann', '2024-02-29'), (3, 'Ann', '2024-03-01'), (4, 'Ben', '2024-03-01'), (5, 'Ben', '2024-03-03');
