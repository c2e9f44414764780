CREATE TABLE article_tags (article_id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (article_id, tag));
INSERT OR IGNORE INTO article_tags (article_id, tag)
SELECT a.id, lower(trim(j.value)) FROM articles AS a, json_each('["' || replace(a.tags, ',', '","') || '"]') AS j WHERE trim(j.value) <> '';
CREATE TABLE kept (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
INSERT INTO kept SELECT id, title FROM articles;
DROP TABLE articles;
ALTER TABLE kept RENAME TO articles;
