SELECT id, team, wage FROM staff AS s WHERE wage > (SELECT avg(wage) FROM staff AS o WHERE o.team = s.team);
