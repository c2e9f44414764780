SELECT id, account, (SELECT sum(o.cents) FROM entries AS o WHERE o.account = e.account AND (o.day < e.day OR o.day = e.day AND o.id <= e.id)) AS balance
FROM entries AS e ORDER BY account, day DESC, id DESC;
