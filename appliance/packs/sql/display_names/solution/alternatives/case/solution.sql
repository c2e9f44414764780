SELECT id, CASE WHEN nickname IS NULL OR trim(nickname) = '' THEN name ELSE trim(nickname) END AS badge FROM visitors;
