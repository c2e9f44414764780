CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
INSERT INTO loans VALUES
  (1, 'ann', 'Dune', '2024-03-01', NULL),
  (2, 'ann', 'Emma', '2024-02-15', NULL),
  (3, 'bo', 'Ulysses', '2024-01-10', NULL),
  (4, 'bo', 'Dune', '2024-01-02', '2024-01-01'),
  (5, 'cy', 'Emma', '2024-02-15', NULL),
  (6, 'cy', 'Dune', '2024-04-01', NULL),
  (7, 'cy', 'It', '2024-05-01', NULL);
