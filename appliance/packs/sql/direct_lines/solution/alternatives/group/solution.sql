SELECT departs, arrives FROM trains GROUP BY departs, arrives HAVING min(cancelled) = 0 ORDER BY 1, 2;
