SELECT id, coalesce(nullif(trim(nickname), ''), name) AS badge FROM visitors;
