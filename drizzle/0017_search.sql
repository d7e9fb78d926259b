-- The feed by order and by request, for the page's search: in shares of it, so that a change is indexed in memory.
CREATE INDEX `changes_order` ON `changes` (`seq` >> 13, substr(order_id, -4)) WHERE order_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `changes_request` ON `changes` (`seq` >> 13, substr(request_id, -4)) WHERE source = 'webhook';
