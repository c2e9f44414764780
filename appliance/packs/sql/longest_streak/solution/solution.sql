SELECT member, max(days) AS days FROM (
  SELECT member, count(*) AS days FROM (
    SELECT member, julianday(day) - row_number() OVER (PARTITION BY member ORDER BY day) AS run FROM (SELECT DISTINCT member, day FROM visits)
  ) GROUP BY member, run
) GROUP BY member;
