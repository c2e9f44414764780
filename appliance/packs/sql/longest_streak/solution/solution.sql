SELECT member, max(days) AS days FROM (
  SELECT member, count(DISTINCT day) AS days FROM (
    SELECT member, day, julianday(day) - dense_rank() OVER (PARTITION BY member ORDER BY day) AS run FROM visits
  ) GROUP BY member, run
) GROUP BY member;
