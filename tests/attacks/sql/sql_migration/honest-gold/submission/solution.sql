CREATE TABLE emails (user_id INTEGER NOT NULL, address TEXT NOT NULL UNIQUE);
INSERT INTO emails (user_id, address)
SELECT min(id), lower(trim(email)) FROM users WHERE trim(coalesce(email, '')) <> '' GROUP BY lower(trim(email));
ALTER TABLE users DROP COLUMN email;
