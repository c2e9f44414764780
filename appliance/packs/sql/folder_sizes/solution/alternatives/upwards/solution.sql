WITH RECURSIVE holds(folder, bytes) AS (
  SELECT folder_id, bytes FROM files
  UNION ALL SELECT f.parent, h.bytes FROM holds AS h JOIN folders AS f ON f.id = h.folder
)
SELECT id, (SELECT ifnull(sum(bytes), 0) FROM holds WHERE folder = id) AS bytes FROM folders;
