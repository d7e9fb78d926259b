CREATE INDEX `changes_variant` ON `changes` (`variant_id`);--> statement-breakpoint
CREATE INDEX `changes_corrected` ON `changes` (`reason`) WHERE source = 'read' AND reason <> 'first_read';