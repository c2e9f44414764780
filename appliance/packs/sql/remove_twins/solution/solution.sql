DELETE FROM contacts WHERE email IS NOT NULL AND id NOT IN (SELECT min(id) FROM contacts GROUP BY lower(email));
