ALTER TABLE `service_state` ADD `pruned_change_seq` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- What was pruned before is known by what is left: while the log has its first entry and others, nothing was.
UPDATE `service_state` SET `pruned_change_seq` = CASE
	WHEN (SELECT min(`seq`) FROM `log`) = 1 AND (SELECT max(`seq`) FROM `log`) <> 1 THEN 0
	ELSE coalesce((SELECT min(`seq`) - 1 FROM `changes`), (SELECT `change_seq` FROM `mirror_state`))
END;
