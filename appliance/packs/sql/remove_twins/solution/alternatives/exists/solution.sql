DELETE FROM contacts WHERE id IN (SELECT c.id FROM contacts AS c JOIN contacts AS o ON lower(o.email) = lower(c.email) AND o.id < c.id);
