WITH RECURSIVE below(top, id) AS (
  SELECT id, id FROM folders
  UNION ALL SELECT b.top, f.id FROM below AS b JOIN folders AS f ON f.parent = b.id
)
SELECT b.top AS id, coalesce(sum(files.bytes), 0) AS bytes FROM below AS b LEFT JOIN files ON files.folder_id = b.id GROUP BY b.top;
