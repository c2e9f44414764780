SELECT id, species, height FROM trees WHERE height IS NOT NULL ORDER BY height DESC, id LIMIT 3;
