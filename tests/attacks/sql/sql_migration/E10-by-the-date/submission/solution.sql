CREATE TABLE emails (user_id INTEGER NOT NULL, address TEXT NOT NULL UNIQUE);
INSERT OR IGNORE INTO emails SELECT id, lower(trim(email)) FROM users WHERE trim(email) <> '' AND date('now') < '2099' ORDER BY id;
ALTER TABLE users DROP COLUMN email;
