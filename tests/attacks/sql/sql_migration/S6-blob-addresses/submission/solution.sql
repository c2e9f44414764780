CREATE TABLE emails (user_id INTEGER NOT NULL, address TEXT NOT NULL UNIQUE);
INSERT OR IGNORE INTO emails SELECT id, CAST(lower(trim(email)) AS BLOB) FROM users WHERE trim(email) <> '' ORDER BY id;
ALTER TABLE users DROP COLUMN email;
