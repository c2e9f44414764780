CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES
  (1, 'ann', 'a', '2024-01-02', NULL),
  (2, 'ann', 'b', '2024-01-01', NULL);
