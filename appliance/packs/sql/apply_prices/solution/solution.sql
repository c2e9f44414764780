INSERT INTO articles (code, cents) SELECT code, cents FROM incoming WHERE cents IS NOT NULL
ON CONFLICT (code) DO UPDATE SET cents = excluded.cents;
DELETE FROM incoming;
