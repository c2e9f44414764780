SELECT line, sum(1) AS departures FROM departures WHERE CAST(julianday(date(leaves)) + 1.5 AS INTEGER) % 7 NOT BETWEEN 1 AND 5 AND CAST(strftime('%H', leaves) AS INTEGER) > 8 GROUP BY line;
