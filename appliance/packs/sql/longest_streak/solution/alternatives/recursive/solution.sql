WITH RECURSIVE walk(member, day, length) AS (
  SELECT member, day, 1 FROM visits
  UNION SELECT w.member, v.day, w.length + 1 FROM walk AS w JOIN visits AS v ON v.member = w.member AND v.day = date(w.day, '+1 day')
) SELECT member, max(length) AS days FROM walk GROUP BY member;
