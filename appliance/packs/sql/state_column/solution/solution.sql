ALTER TABLE orders ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
UPDATE orders SET state = 'paid' WHERE paid_on IS NOT NULL;
