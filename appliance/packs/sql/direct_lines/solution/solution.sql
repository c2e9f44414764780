SELECT DISTINCT departs, arrives FROM trains WHERE cancelled = 0 ORDER BY departs, arrives;
