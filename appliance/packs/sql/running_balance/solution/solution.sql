SELECT id, account, sum(cents) OVER (PARTITION BY account ORDER BY day, id) AS balance FROM entries ORDER BY account, day DESC, id DESC;
