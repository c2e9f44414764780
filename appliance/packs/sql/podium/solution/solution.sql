SELECT race, place, runner FROM (SELECT race, runner, rank() OVER (PARTITION BY race ORDER BY seconds) AS place FROM results WHERE seconds IS NOT NULL) WHERE place <= 3;
