CREATE TABLE emails (user_id INTEGER NOT NULL, address TEXT NOT NULL UNIQUE);
INSERT OR REPLACE INTO emails SELECT id, lower(trim(email)) FROM users WHERE trim(email) <> '' ORDER BY id;
ALTER TABLE users DROP COLUMN email;
