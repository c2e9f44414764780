CREATE TABLE article_tags (article_id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (article_id, tag));
WITH RECURSIVE part(id, tag, rest) AS (
  SELECT id, '', tags || ',' FROM articles WHERE tags IS NOT NULL
  UNION ALL
  SELECT id, lower(trim(substr(rest, 1, instr(rest, ',') - 1))), substr(rest, instr(rest, ',') + 1) FROM part WHERE rest <> ''
)
INSERT INTO article_tags SELECT DISTINCT id, tag FROM part WHERE tag <> '';
ALTER TABLE articles DROP COLUMN tags;
