SELECT r.race AS race, count(o.runner) + 1 AS place, r.runner AS runner FROM results AS r
LEFT JOIN results AS o ON o.race = r.race AND o.seconds < r.seconds
WHERE r.seconds IS NOT NULL GROUP BY r.race, r.runner HAVING count(o.runner) < 3;
